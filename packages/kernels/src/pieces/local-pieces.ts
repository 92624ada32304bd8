import { util, type TensorInfo } from '@tensorflow/tfjs-core';
import type { LocalPiece, LocalPieces, LocalPiecesOptions, PiecedInfo, PieceLayout } from '@acc/contract';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { lazyOf } from '../pending/lazy.js';
import { TensorData, type DataPieces } from '../tensor-data.js';

const clone = operator('aten::clone');
const contiguous = operator('aten::contiguous');
const reshape = operator('aten::reshape');
const select = operator('aten::select.int');

/** libtorch's constant for the row-major memory format. */
const CONTIGUOUS = 0;

/** Tensors of the backend `acc` of which this rank has one piece. A read joins the pieces of all ranks. */
export function localPieces(backend: AccBackend, options: LocalPiecesOptions): LocalPieces {
  const { count, index } = options;
  const of = (x: TensorInfo): LocalPiece | undefined => {
    const inPieces = backend.piecesOf(x);
    if (inPieces?.index === undefined) return undefined;
    return { layout: inPieces.layout, piece: inPieces.pieces![0]! };
  };
  const held = (layout: PieceLayout, piece: TensorInfo): DataPieces => ({
    layout,
    count,
    index,
    pieces: [piece],
    hold,
  });
  const joinerOf =
    (shape: readonly number[], inPieces: DataPieces): (() => NativeTensor) =>
    () => {
      const whole = options.join({ layout: inPieces.layout, piece: inPieces.pieces![0]! }, shape);
      const native = reshape(backend.native(whole), shape);
      whole.dispose();
      return native;
    };
  const wrap = ({ shape, dtype }: PiecedInfo, inPieces: DataPieces): TensorInfo => {
    const join = joinerOf(shape, inPieces);
    const info = {
      dataId: backend.hold(new TensorData(dtype, undefined, undefined, undefined, join)),
      shape,
      dtype,
    };
    backend.setPieces(info, inPieces);
    return info;
  };
  function hold(info: PiecedInfo, piece: TensorInfo): TensorInfo {
    return wrap(info, held(info.layout, piece));
  }
  return {
    hold,
    follow: (info, { piece, isFreed }) =>
      wrap(info, {
        ...held(info.layout, piece()),
        isBorrowed: true,
        get isFreed() {
          return isFreed();
        },
        get pieces() {
          return [piece()];
        },
      }),
    of,
    layoutOf(x) {
      const inPieces = backend.piecesOf(x);
      return inPieces?.index === undefined ? undefined : inPieces.layout;
    },
    canCut: (x) => !backend.hasAttached(x) && !(x.dataId as Partial<TensorData>).isStandIn,
    cut(x, { outer, shape }) {
      const lazy = lazyOf(x);
      if (lazy && util.sizeFromShape(x.shape) / outer === lazy.columns)
        return { ...lazy.making.own(), shape };
      using repetitions = reshape(backend.native(x), [outer, count, util.sizeFromShape(shape) / outer]);
      using own = select(repetitions, 1, index);
      // A copy, not a view: a view would keep the whole tensor in memory.
      using copy = clone(own, CONTIGUOUS);
      return backend.wrap(reshape(copy, shape), x.dtype);
    },
    fill(x, whole) {
      using shaped = reshape(backend.native(whole), x.shape);
      // A permuted view would be copied again for each other shape.
      const native = contiguous(shaped);
      backend.disposeInfo(whole);
      backend.replaceData(x, native);
    },
    replace(x, layout, piece) {
      const inPieces = held(layout, piece);
      backend.replaceData(x, undefined, inPieces, joinerOf(x.shape, inPieces));
    },
    holders: (x) => backend.refCount(x.dataId),
    release: (x) => (x.dataId as TensorData).release(),
  };
}
