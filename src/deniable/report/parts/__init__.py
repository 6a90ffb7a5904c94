"""Parts of pages: each file has one final subclass of `Part`, with a renderer for each output.

The package has no list of its parts, because outputs call the methods of the parts that a page has. The template for
the HTML of a part has the same name in `templates/parts`.
"""
