"""Parts of pages: each file has one final class under `Part`, with a renderer for each output.

Nothing lists them: outputs call the methods of the parts that a page has. The markup of a part is the template of
the same name in `templates/parts`.
"""
