"""The results of functions that infer layouts."""


class InferCorrectLayoutOutput:
    """Layouts of inputs and outputs, and new attributes."""

    def __init__(self, input_layouts, output_layouts, new_attrs):
        self.input_layouts = input_layouts
        self.output_layouts = output_layouts
        self.new_attrs = new_attrs
