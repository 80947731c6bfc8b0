"""Engines: what completes text and can move its own weights.

`torch` (`torch_engine`) serves any Hugging Face model folder, `scripted` answers without a model. Importing this
package loads neither torch nor numba; workers do.
"""
