"""The order in which walks meet the parts of a program."""


def post_order(root, parts):
    """All nodes below a root and itself, each once, parts before what they are part of. `parts` lists those of a node."""
    seen, order, stack = set(), [], [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((part, False) for part in reversed(parts(node)))
    return order
