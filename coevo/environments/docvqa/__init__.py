"""DocVQA: questions about the image of a document, answered by an agent that has a shell with OCR but cannot see."""
