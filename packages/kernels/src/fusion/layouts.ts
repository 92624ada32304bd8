import { util } from '@tensorflow/tfjs-core';
import type { FusionMode } from './elementwise-operators.js';
import { fusedForm, type FusedForm } from './fusable.js';
import type { Call, Graph, GraphNode } from './graph.js';
import { isRowLength, isSpreadOverRows } from './row-operators.js';

/** The elements and rows that the operators of a program work on. */
export interface Layout {
  readonly elements: number;
  /** The length of its rows. Undefined as long as no operator needs rows. */
  readonly row: number | undefined;
}

/** The longest rows of a program that reduces none: its blocks are not longer for rows. */
const MAX_PLAIN_ROW = 1024;

/** Decides which operators can be in one program. */
export class Layouts {
  readonly #forms = new Map<GraphNode, FusedForm | undefined>();

  constructor(
    private readonly graph: Graph,
    private readonly mode: FusionMode,
  ) {}

  /** The layout of a program of one operator. Undefined if it cannot be part of a program. */
  of(node: GraphNode): Layout | undefined {
    const form = this.#formOf(node);
    if (!form) return undefined;
    const isRow = form.kind === 'row';
    return {
      elements: this.#size(isRow ? node.uses[0]! : node.results[0]!),
      row: isRow ? form.row : undefined,
    };
  }

  /**
   * The layout of a program after an operator has joined it.
   *
   * @param users The operators of the program that take its result.
   * @returns undefined if it cannot join.
   */
  joined(node: GraphNode, program: Layout, users: readonly GraphNode[]): Layout | undefined {
    const own = this.of(node);
    if (!own || this.#isColumnSum(node)) return undefined;
    const layout = merged(own, program, this.#size(node.results[0]!));
    return layout && users.every((user) => this.#canTake(user, node, layout)) ? layout : undefined;
  }

  /** Whether an operator can take the result of another one in a program. */
  #canTake(user: GraphNode, { results }: GraphNode, { elements, row }: Layout): boolean {
    const form = this.#formOf(user)!;
    const size = this.#size(results[0]!);
    if (size === elements) return true;
    if (form.kind === 'row') return false;
    const isOfElements = this.#size(user.results[0]!) === elements;
    return !isOfElements || isSpreadOverRows(this.#shape(results[0]!), this.#shape(user.results[0]!), row!);
  }

  /** The sum of columns is known only after the last row. */
  #isColumnSum(node: GraphNode): boolean {
    const form = this.#formOf(node);
    return form?.kind === 'row' && form.result === 'columns';
  }

  #formOf(node: GraphNode): FusedForm | undefined {
    if (!this.#forms.has(node)) this.#forms.set(node, formOf(node, this.graph, this.mode));
    return this.#forms.get(node);
  }

  #shape(value: number): readonly number[] {
    return this.graph.values[value]!.shape;
  }

  #size(value: number): number {
    return util.sizeFromShape([...this.#shape(value)]);
  }
}

function formOf(node: GraphNode, graph: Graph, mode: FusionMode): FusedForm | undefined {
  const form = node.kind === 'call' ? fusedForm(node as Call, graph, mode) : 'it is a program';
  return typeof form === 'string' ? undefined : form;
}

/**
 * The layout of a program with one more operator.
 *
 * @param size The number of elements of the operator's result.
 */
function merged(own: Layout, program: Layout, size: number): Layout | undefined {
  const row = own.row ?? program.row;
  const isSameRow = own.row === undefined || program.row === undefined || own.row === program.row;
  if (own.elements === program.elements) return isSameRow ? { ...program, row } : undefined;
  // Operators on one number for each row get a reduction that makes these numbers.
  if (own.row !== undefined) {
    return program.row === undefined && program.elements === size && size > 0 ? own : undefined;
  }
  // One number for each row of the program.
  const length = program.elements / size;
  const isRow =
    program.row === undefined ? isRowLength(length) && length <= MAX_PLAIN_ROW : program.row === length;
  return isRow ? { elements: program.elements, row: length } : undefined;
}
