"""JSON of programs that other versions of TVM saved. `load_json` reads what they wrote as it is."""


def get_version(jgraph):
    """The version of TVM that wrote a graph, which `json.loads` has read."""
    return jgraph["metadata"]["tvm_version"]


def create_updater(node_map, from_ver, to_ver):
    """A function that rewrites the nodes of a graph of one version: by type key a function of node and nodes, or several."""

    def update(graph):
        assert get_version(graph).startswith(from_ver), f"the graph is of version {get_version(graph)}, not {from_ver}"
        nodes = graph["nodes"]
        for place, node in enumerate(nodes):
            rules = node_map.get(node["type"]) or []
            for rule in rules if isinstance(rules, list) else [rules]:
                node = rule(node, nodes)
            nodes[place] = node
        graph["metadata"]["tvm_version"] = to_ver
        return graph

    return update


def upgrade_json(json_str):
    """The text that `load_json` reads: the same one."""
    return json_str
