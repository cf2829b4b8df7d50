"""Programs in colours, of which a page has its own: here they are plain."""


def cprint(printable, style=None, black_format=False):
    """Prints a program, or a text as it is."""
    print(printable if isinstance(printable, str) else printable.script())
