"""Edits of the bindings of a dataflow block (`src/relax/ir/binding_rewrite.cc`)."""

from ..error import InternalError
from ..ir.expr import Var
from ..ir.supply import UniqueNameSupply
from .analysis import contains_impure_call, free_vars
from .expr import DataflowBlock, DataflowVar, Function, MatchCast, SeqExpr, VarBinding


class DataflowBlockRewrite:
    """A dataflow block and the function around it, which stay as they are: edits give new ones."""

    def __init__(self, dfb, root_fn):
        self.dfb, self.root_fn = dfb, root_fn
        self._users = {param: [] for param in root_fn.params}
        self._outputs = list(free_vars(root_fn.body.body))
        for block in root_fn.body.blocks:
            for binding in block.bindings:
                self._users.setdefault(binding.var, [])
                for var in free_vars(binding.value):
                    self._users.setdefault(var, []).append(binding.var)

    def replace_all_uses(self, old_var, new_var):
        """Puts one variable in the place of another."""
        for var in (old_var, new_var):
            if var not in self._users:
                raise InternalError(f"Cannot find {var}")
        if old_var is new_var:
            return
        from .expr_functor import PyExprMutator, mutator

        @mutator
        class Renaming(PyExprMutator):
            def visit_var_(self, var):
                return new_var if var is old_var else var

            visit_dataflow_var_ = visit_var_

        def renamed(value):
            return Renaming().visit_expr(value)

        self._update(lambda block: [_with_value(binding, renamed(binding.value)) for binding in block.bindings], renamed)
        self._users[new_var] = list(dict.fromkeys([*self._users[new_var], *self._users[old_var]]))
        self._users[old_var] = []
        self._outputs = [new_var if var is old_var else var for var in self._outputs]

    def add_binding(self, binding):
        """Adds a binding behind those of the variables that it uses."""
        if binding.var in self._users:
            raise InternalError(f"{binding.var} has been defined so cannot be added.")
        used = list(free_vars(binding.value))
        bindings = list(self.dfb.bindings)
        at = max((at for at, other in enumerate(bindings) if any(other.var is var for var in used)), default=0)
        bindings.insert(at + 1, binding)
        self._replace_block(DataflowBlock(bindings))
        self._users[binding.var] = []
        for var in used:
            self._users.setdefault(var, []).append(binding.var)

    def add(self, expr, name=None, is_dfvar=False):
        """Binds an expression to a new variable."""
        taken = UniqueNameSupply()
        for var in self._users:
            taken.reserve_name(var.name)
        unique = taken.fresh_name(name or ("lv" if is_dfvar else "gv"), add_underscore=False)
        self.add_binding(VarBinding((DataflowVar if is_dfvar else Var)(unique, expr.ty), expr))

    def remove_unused(self, var, allow_undef=False):
        """Removes the binding of a variable that nothing uses."""
        if var not in self._users:
            if allow_undef:
                return
            raise InternalError(f"{var} undefined. Set allow_undef=True to allow 'removing' undefined var")
        if self._users[var]:
            raise InternalError(f"{var} is used by {len(self._users[var])} vars")
        self._replace_block(DataflowBlock([binding for binding in self.dfb.bindings if binding.var is not var]))
        del self._users[var]

    def remove_all_unused(self):
        """Removes all bindings whose values nothing needs."""
        users = {var: list(found) for var, found in self._users.items()}
        unused = []
        while True:
            found = [var for var, by in users.items() if not by and not any(var is output for output in self._outputs)]
            if not found:
                break
            unused.extend(found)
            for var in found:
                del users[var]
            users = {var: [user for user in by if not any(user is gone for gone in found)] for var, by in users.items()}

        def kept(block):
            flow = isinstance(block, DataflowBlock)
            return [
                binding
                for binding in block.bindings
                if isinstance(binding, MatchCast)
                or not any(binding.var is var for var in unused)
                or not flow
                and contains_impure_call(binding.value)
            ]

        self._update(kept, lambda value: value)
        self._users = users

    def mutated_dfb(self):
        """The block as it is now."""
        return self.dfb

    def mutated_root_fn(self):
        """The function as it is now."""
        return self.root_fn

    def mutate_irmodule(self, irmodule):
        """A module with the function in the place of the one that it was made from."""
        for var, func in irmodule.functions.items():
            if func is self._original:
                made = irmodule.clone() if hasattr(irmodule, "clone") else irmodule
                made.update_func(var, self.root_fn)
                return made
        return irmodule

    def _update(self, bindings, result):
        """Rewrites all blocks of the function, and its result."""
        blocks = []
        for block in self.root_fn.body.blocks:
            made = type(block)(bindings(block))
            if block is self.dfb:
                caught = made
            blocks.append(made)
        self._set([block for block in blocks if len(block.bindings)], result(self.root_fn.body.body))
        self.dfb = caught

    def _replace_block(self, block):
        blocks = [block if other is self.dfb else other for other in self.root_fn.body.blocks]
        self._set([other for other in blocks if len(other.bindings)], self.root_fn.body.body)
        self.dfb = block

    def _set(self, blocks, body):
        func = self.root_fn
        self._original = self.__dict__.get("_original", func)
        self.root_fn = Function(func.params, SeqExpr(blocks, body), func.ret_ty, func.is_pure, func.attrs)


def _with_value(binding, value):
    if isinstance(binding, MatchCast):
        return MatchCast(binding.var, value, binding.ty)
    return VarBinding(binding.var, value)

