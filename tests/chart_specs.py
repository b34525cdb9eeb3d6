"""Reading the specification of a chart: its layers, their rows, and all but the places for names."""


def layers(spec):
    """The layers by name, however deep they lie."""
    found = {spec["name"]: spec} if "name" in spec and "encoding" in spec else {}
    for part in spec.get("layer", []):
        found |= layers(part)
    return found


def layer(spec, name):
    return layers(spec)[name]


def rows_of(spec, name="lines"):
    # Altair lifts rows that all layers share to the top, or to the group of layers.
    data = layer(spec, name).get("data", spec.get("data", spec["layer"][0].get("data")))
    return spec["datasets"][data["name"]]


def without_data(spec):
    """The specification without its two places for names: the rows and the domains of the scales."""

    def walk(node):
        if isinstance(node, dict):
            # The domain of a position scale is two numbers, which are no names.
            return {k: walk(v) for k, v in node.items() if k not in ("datasets", "domain")}
        return [walk(v) for v in node] if isinstance(node, list) else node

    return walk(spec)


def outside_data(spec, names):
    """Those of the names that occur elsewhere than in the places for names."""
    rest = repr(without_data(spec))
    return [name for name in names if name in rest or repr(name)[1:-1] in rest]


def panel_layer(spec, name):
    return layer(spec["spec"], name)


def panel_rows(spec):
    return spec["datasets"][spec["data"]["name"]]


def unpacked(table):
    """Return the rows of data that the page has as columns, as its scripts read them."""
    columns = {
        field: column if isinstance(column, list) else [column["values"][place] for place in column["places"]]
        for field, column in table["columns"].items()
    }
    return [{field: column[row] for field, column in columns.items()} for row in range(table["count"])]
