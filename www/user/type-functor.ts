/** Visitors and mutators of types. */
import { space } from "./engine";
import { checkHooks, hooksOf } from "./names";
import {
  type Dim,
  FuncType,
  type GlobalTypeVar,
  type IncompleteType,
  RelayRefType,
  ShapeType,
  TensorType,
  TupleType,
  type Type,
  TypeCall,
  TypeVar,
} from "./types";

/** Goes over a type: `visitType` finds the hook. */
export class TypeVisitor {
  constructor() {
    checkHooks(this);
  }
  visitType(type: Type): void {
    if (type instanceof TensorType) this.visitTensorType(type);
    else if (type instanceof TupleType) this.visitTupleType(type);
    else if (type instanceof FuncType) this.visitFuncType(type);
    else if (type instanceof RelayRefType) this.visitRefType(type);
    else if (type instanceof TypeCall) this.visitTypeCall(type);
    else if (type instanceof TypeVar) this.visitTypeVar(type);
    else if (type instanceof ShapeType) this.visitShapeType(type);
    else this.visitOtherType(type as GlobalTypeVar | IncompleteType);
  }
  /** Visits an extent: a number, a symbol, an expression over them, or `Any`. */
  visitDim(_dim: Dim): void {}
  visitTensorType(type: TensorType): void {
    for (const dim of type.shape ?? []) this.visitDim(dim);
  }
  visitShapeType(type: ShapeType): void {
    for (const dim of type.values ?? []) this.visitDim(dim);
  }
  visitTupleType(type: TupleType): void {
    for (const field of type.fields) this.visitType(field);
  }
  visitFuncType(type: FuncType): void {
    for (const arg of type.argTypes) this.visitType(arg);
    this.visitType(type.retType);
  }
  visitRefType(type: RelayRefType): void {
    this.visitType(type.value);
  }
  visitTypeCall(type: TypeCall): void {
    this.visitType(type.func);
    for (const arg of type.args) this.visitType(arg);
  }
  visitTypeVar(_type: TypeVar): void {}
  visitOtherType(_type: Type): void {}
}

/** Makes another type of a type. */
export class TypeMutator {
  constructor() {
    checkHooks(this);
  }
  visitType(type: Type): Type {
    if (type instanceof TensorType) return this.visitTensorType(type);
    if (type instanceof TupleType) return this.visitTupleType(type);
    if (type instanceof FuncType) return this.visitFuncType(type);
    if (type instanceof RelayRefType) return this.visitRefType(type);
    if (type instanceof TypeCall) return this.visitTypeCall(type);
    if (type instanceof TypeVar) return this.visitTypeVar(type);
    if (type instanceof ShapeType) return this.visitShapeType(type);
    return this.visitOtherType(type);
  }
  /** Visits an extent. The default returns it unchanged. */
  visitDim(dim: Dim): Dim {
    return dim;
  }
  private dims(shape: readonly Dim[] | null): readonly Dim[] | null {
    const after = shape?.map((dim) => this.visitDim(dim));
    return after?.some((dim, at) => dim !== shape?.[at]) ? after : null;
  }
  visitTensorType(type: TensorType): Type {
    const shape = this.dims(type.shape);
    return shape ? new TensorType(shape, type.dtype || null) : type;
  }
  visitShapeType(type: ShapeType): Type {
    const values = this.dims(type.values);
    return values ? new ShapeType(values) : type;
  }
  visitTupleType(type: TupleType): Type {
    return new TupleType(type.fields.map((field) => this.visitType(field)));
  }
  visitFuncType(type: FuncType): Type {
    // Type parameters are bound inside, so a type with some stays as it is.
    if (type.hasTypeParams || type.isOpaque) return type;
    return new FuncType(
      type.argTypes.map((arg) => this.visitType(arg)),
      this.visitType(type.retType),
      space().relax ? type.purity : [],
    );
  }
  visitRefType(type: RelayRefType): Type {
    return new RelayRefType(this.visitType(type.value));
  }
  visitTypeCall(type: TypeCall): Type {
    return new TypeCall(
      this.visitType(type.func),
      type.args.map((arg) => this.visitType(arg)),
    );
  }
  visitTypeVar(type: TypeVar): Type {
    return type;
  }
  visitOtherType(type: Type): Type {
    return type;
  }
}

hooksOf(TypeVisitor, TypeMutator);
