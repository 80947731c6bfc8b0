"""Environments made of other packages' ones, in a few lines of a user's `environment.py`.

`gym_text` plays text environments of Gymnasium, `question_sets` asks the data sets of reasoning-gym, `browser_tasks`
acts in the pages of BrowserGym. Their packages are loaded when the first task or episode needs them.
"""
