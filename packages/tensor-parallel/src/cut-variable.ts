import {
  engine,
  Tensor,
  tidy,
  util,
  Variable,
  variable as createVariable,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import type { PieceLayout, RowsAt } from '@acc/contract';
import { livesWith } from '@acc/kernels';
import { patch, type Undo } from '@acc/tfjs-internals';
import { freed } from './errors.js';
import { ownRows } from './own-rows.js';
import type { Pieces } from './pieces.js';

let created = 0;

/**
 * A variable of which this rank has one piece. The variable keeps its shape and reads as its whole
 * value. Its piece is in {@link own}, which tfjs does not list among its variables, and which
 * strategies and optimizers update.
 */
export class CutVariable {
  /** Has the name of the variable. */
  readonly own: Variable;
  readonly #layout: PieceLayout;
  readonly #restore: Undo;

  /** @param variable Has the values that all ranks start from. */
  constructor(
    readonly variable: Variable,
    readonly at: RowsAt,
    private readonly pieces: Pieces,
  ) {
    const name = `tensor/cut_${created++}`;
    this.own = tidy(() => createVariable(this.cut(variable), variable.trainable, name));
    const { registeredVariables } = engine();
    delete registeredVariables[name];
    (this.own as { name: string }).name = variable.name;
    livesWith(this.own, variable);
    this.#layout = pieces.layoutAt(variable.shape, at);
    this.#follow();
    this.#restore = patch(variable, 'assign', 'local values', (assign) => (values) => {
      const fits = values.dtype === variable.dtype && util.arraysEqual(values.shape, variable.shape);
      if (fits) tidy(() => this.own.assign(this.cut(values)));
      else assign.call(variable, values);
      this.release();
    });
  }

  /** This rank's piece of a tensor in the shape of the variable. The caller disposes it. */
  cut(values: Tensor): Tensor {
    return ownRows(values, this.at, this.pieces);
  }

  /** A tensor in the shape of the variable of which this rank has `piece`, which it takes over. */
  whole(piece: Tensor): Tensor {
    const { local, line } = this.pieces;
    const { shape, dtype } = this.variable;
    line.backend.incRef(piece.dataId);
    const info = local.hold({ shape: [...shape], dtype, layout: this.#layout }, infoOf(piece));
    piece.dispose();
    return engine().makeTensorFromTensorInfo(info, line.backend);
  }

  /** Gives tensors that share the values of the variable their own, before the values change. */
  separate(): void {
    const { local, line } = this.pieces;
    if (local.holders(this.variable) < 2) return;
    line.backend.incRef(this.own.dataId);
    local.replace(this.variable, this.#layout, infoOf(this.own));
    this.#follow();
  }

  /** Frees whole values that a read has gathered. */
  release(): void {
    this.pieces.local.release(this.variable);
  }

  dispose(): void {
    this.#restore();
    this.release();
    // Its own dispose would take the variable of this name off tfjs's list.
    Tensor.prototype.dispose.call(this.own);
  }

  /** Gives the variable a tensor whose piece is always {@link own}. */
  #follow(): void {
    const { local, line } = this.pieces;
    const { shape, dtype } = this.variable;
    const isFreed = () => this.own.isDisposed;
    const piece = () => {
      if (isFreed()) throw freed(this.variable);
      return infoOf(this.own);
    };
    const info = local.follow({ shape: [...shape], dtype, layout: this.#layout }, { piece, isFreed });
    const tensor = engine().makeTensorFromTensorInfo(info, line.backend);
    Variable.prototype.assign.call(this.variable, tensor);
    tensor.dispose();
  }
}

const infoOf = ({ dataId, shape, dtype }: Tensor): TensorInfo => ({ dataId, shape, dtype });
