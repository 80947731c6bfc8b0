"""Make a basis for guided noise: gradients on a corpus, differences of checkpoints, or random vectors as a control.

`vectors` says where the vectors come from, `gradients` computes gradients with torch, `spans` finds the factors that
the vectors share, `building` puts a basis together and says what was lost.
"""
