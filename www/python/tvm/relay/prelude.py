"""Definitions that programs may use: lists, options, trees, natural numbers, and functions over them."""

from ..ir.module import IRModule

_LISTS = """
type List[A] { Cons(A, List[A]), Nil, }
type Option[A] { Some(A), None, }
type Tree[A] { Rose(A, List[Tree[A]]), }

def @id[A](%x: A) -> A { %x }
def @compose[A, B, C](%f: fn (B) -> C, %g: fn (A) -> B) -> fn (A) -> C { fn (%x: A) -> C { %f(%g(%x)) } }
def @flip[A, B, C](%f: fn (A, B) -> C) -> fn (B, A) -> C { fn (%y: B, %x: A) -> C { %f(%x, %y) } }
def @hd[A](%xs: List[A]) -> A { match? (%xs) { Cons(%x, _) => %x, } }
def @tl[A](%xs: List[A]) -> List[A] { match? (%xs) { Cons(_, %rest) => %rest, } }
def @nth[A](%xs: List[A], %n: int32) -> A {
  if (%n == 0) { @hd(%xs) } else { @nth(@tl(%xs), %n - 1) }
}
def @update[A](%xs: List[A], %n: int32, %v: A) -> List[A] {
  if (%n == 0) { Cons(%v, @tl(%xs)) } else { Cons(@hd(%xs), @update(@tl(%xs), %n - 1, %v)) }
}
def @map[A, B](%f: fn (A) -> B, %xs: List[A]) -> List[B] {
  match (%xs) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil, }
}
def @foldl[A, B](%f: fn (A, B) -> A, %acc: A, %xs: List[B]) -> A {
  match (%xs) { Cons(%x, %rest) => @foldl(%f, %f(%acc, %x), %rest), Nil => %acc, }
}
def @foldr[A, B](%f: fn (A, B) -> B, %acc: B, %xs: List[A]) -> B {
  match (%xs) { Cons(%x, %rest) => %f(%x, @foldr(%f, %acc, %rest)), Nil => %acc, }
}
def @foldr1[A](%f: fn (A, A) -> A, %xs: List[A]) -> A {
  match? (%xs) { Cons(%x, Nil) => %x, Cons(%x, %rest) => %f(%x, @foldr1(%f, %rest)), }
}
def @sum(%xs: List[int32]) -> int32 { @foldl(fn (%x: int32, %y: int32) -> int32 { %x + %y }, 0, %xs) }
def @length[A](%xs: List[A]) -> int32 {
  match (%xs) { Cons(_, %rest) => 1 + @length(%rest), Nil => 0, }
}
def @concat[A](%xs: List[A], %ys: List[A]) -> List[A] {
  match (%xs) { Cons(%x, %rest) => Cons(%x, @concat(%rest, %ys)), Nil => %ys, }
}
def @filter[A](%f: fn (A) -> bool, %xs: List[A]) -> List[A] {
  match (%xs) {
    Cons(%x, %rest) => if (%f(%x)) { Cons(%x, @filter(%f, %rest)) } else { @filter(%f, %rest) },
    Nil => Nil,
  }
}
def @zip[A, B](%xs: List[A], %ys: List[B]) -> List[(A, B)] {
  match? (%xs, %ys) {
    (Cons(%x, %more), Cons(%y, %rest)) => Cons((%x, %y), @zip(%more, %rest)),
    (Nil, _) => Nil,
    (_, Nil) => Nil,
  }
}
def @rev[A](%xs: List[A]) -> List[A] {
  @foldl(fn (%acc: List[A], %x: A) -> List[A] { Cons(%x, %acc) }, Nil, %xs)
}
def @map_accumr[A, B, C](%f: fn (A, B) -> (A, C), %init: A, %xs: List[B]) -> (A, List[C]) {
  let %step = fn (%x: B, %acc: (A, List[C])) -> (A, List[C]) {
    let %made = %f(%acc.0, %x);
    (%made.0, Cons(%made.1, %acc.1))
  };
  @foldr(%step, (%init, Nil), %xs)
}
def @map_accuml[A, B, C](%f: fn (A, B) -> (A, C), %init: A, %xs: List[B]) -> (A, List[C]) {
  let %step = fn (%acc: (A, List[C]), %x: B) -> (A, List[C]) {
    let %made = %f(%acc.0, %x);
    (%made.0, Cons(%made.1, %acc.1))
  };
  @foldl(%step, (%init, Nil), %xs)
}
def @unfoldr[A, B](%f: fn (A) -> Option[(A, B)], %seed: A) -> List[B] {
  match (%f(%seed)) { Some(%next) => Cons(%next.1, @unfoldr(%f, %next.0)), None => Nil, }
}
def @unfoldl[A, B](%f: fn (A) -> Option[(A, B)], %seed: A) -> List[B] { @rev(@unfoldr(%f, %seed)) }
def @tmap[A, B](%f: fn (A) -> B, %t: Tree[A]) -> Tree[B] {
  match (%t) { Rose(%x, %below) => Rose(%f(%x), @map(fn (%part: Tree[A]) -> Tree[B] { @tmap(%f, %part) }, %below)), }
}
def @size[A](%t: Tree[A]) -> int32 {
  match (%t) { Rose(_, %below) => 1 + @sum(@map(fn (%part: Tree[A]) -> int32 { @size(%part) }, %below)), }
}
def @iterate[A](%f: fn (A) -> A, %n: int32) -> fn (A) -> A {
  if (%n == 0) { @id } else { @compose(%f, @iterate(%f, %n - 1)) }
}
"""

_NATURALS = """
type nat { zero, succ(nat), }

def @nat_double(%x: nat) -> nat { match (%x) { zero => zero, succ(%y) => succ(succ(@nat_double(%y))), } }
def @nat_add(%x: nat, %y: nat) -> nat { match (%x) { zero => %y, succ(%z) => succ(@nat_add(%z, %y)), } }
def @nat_iterate[A](%f: fn (A) -> A, %n: nat) -> fn (A) -> A {
  match (%n) { zero => fn (%x: A) -> A { %x }, succ(%m) => fn (%x: A) -> A { %f(@nat_iterate(%f, %m)(%x)) }, }
}
"""

_GRADIENTS = """
type GradCell[T] { Raw(T), One(fn () -> T), Zero(fn () -> T), }

def @FromGradCell[T](%g: GradCell[T]) -> T { match (%g) { Raw(%x) => %x, One(%f) => %f(), Zero(%f) => %f(), } }
def @MultiplyGradCell[T](%multiply: fn (T, T) -> T, %l: GradCell[T], %r: GradCell[T]) -> GradCell[T] {
  match (%l, %r) {
    (Zero(_), _) => %l,
    (_, Zero(_)) => %r,
    (One(_), _) => %r,
    (_, One(_)) => %l,
    _ => Raw(%multiply(@FromGradCell(%l), @FromGradCell(%r))),
  }
}
def @AddGradCell[T](%add: fn (T, T) -> T, %l: GradCell[T], %r: GradCell[T]) -> GradCell[T] {
  match (%l, %r) { (Zero(_), _) => %r, (_, Zero(_)) => %l, _ => Raw(%add(@FromGradCell(%l), @FromGradCell(%r))), }
}
"""

_FILES = {"prelude.rly": _LISTS, "nat.rly": _NATURALS, "core.rly": "extern type Storage\n", "gradient.rly": _GRADIENTS}


def import_from_std(mod, path):
    """Adds the definitions of a file that TVM brings along, by its name."""
    from .parser import parse

    name = path.rsplit("/", 1)[-1]
    if name not in _FILES:
        raise ValueError(f"{path} is not among the files that are here: {', '.join(_FILES)}")
    other = parse(f'#[version = "0.0.5"]\n{_FILES[name]}')
    for var, func in other.functions.items():
        if var.name_hint not in mod:
            mod[var] = func
    for var, data in other.type_definitions.items():
        mod.type_definitions.setdefault(var, data)
    mod._relay = True


def get_type(mod, name):
    """A definition with its constructors: `(variable, constructor, ...)`."""
    for var, data in mod.type_definitions.items():
        if var.name_hint == name:
            return (var, *data.constructors)
    raise ValueError(f"{name} is not a type of the module")


class Prelude:
    """A module with the definitions, and names for them."""

    def __init__(self, mod=None):
        self.mod = IRModule() if mod is None else mod
        import_from_std(self.mod, "prelude.rly")

    def get_type(self, name):
        """A definition with its constructors: `(variable, constructor, ...)`."""
        return get_type(self.mod, name)

    def get_ctor(self, ty_name, canonical, dtype=None):
        """A constructor by its name."""
        return next(ctor for ctor in self.get_type(ty_name)[1:] if ctor.name_hint == canonical)

    def __getattr__(self, name):
        mod = self.__dict__.get("mod")
        if mod is not None and name in mod:
            return mod.get_global_var(name)
        raise AttributeError(name)
