import type { ReplayReport } from '@acc/kernels';
import { addFlops, flopsOfCall, NO_FLOPS, type Flops } from '@acc/kernels';
import { Tensor, type CallObserver, type ReplayedCall } from '@acc/native';

/** The calls of one operator with the same shapes, in one step. */
export interface OperatorRow {
  /** The full name of libtorch's operator, such as `aten::mm`, or `fused program`. */
  readonly name: string;
  /**
   * The shapes of the tensors among the arguments: `[64,784] [784,128]`. In a replay of a compiled step
   * the shape of the result: `→ [64,128]`.
   */
  readonly shapes: string;
  readonly calls: number;
  readonly ms: number;
  /** The part of the time of all operators, from 0 to 1. */
  readonly share: number;
  /** Floating-point operations, in 10^9. Zero for operators without products, and in replays. */
  readonly gigaflops: number;
}

type Sum = { name: string; shapes: string; calls: number; ms: number; flops: number };

/** Adds up native calls, by operator and shapes. */
export class OperatorTimes {
  readonly #sums = new Map<string, Sum>();
  /** How often each recording was replayed, with what it called. */
  readonly #replays = new Map<object, { calls: ReturnType<ReplayReport['calls']>; times: number }>();
  #flops = NO_FLOPS;

  /** Adds a call. Returns the shapes of its arguments, and its operations if it has products. */
  observe(...[name, args, ms]: Parameters<CallObserver>): { shapes: string; flops: Flops | undefined } {
    const flops = flopsOfCall(name, args);
    if (flops) this.#flops = addFlops(this.#flops, flops);
    const shapes = shapesOf(args);
    this.#add({ name, shapes, calls: 1, ms, flops: flops?.hardware ?? 0 });
    return { shapes, flops };
  }

  /** Adds a replay. Returns its calls. */
  replayed(report: ReplayReport): ReturnType<ReplayReport['calls']> {
    const { recording, flops } = report;
    this.#flops = addFlops(this.#flops, flops);
    const known = this.#replays.get(recording);
    const times = (known?.times ?? 0) + 1;
    // Reading the calls takes longer than a small replay, so it is done less and less often.
    const calls = known && !isPowerOfTwo(times) ? known.calls : report.calls();
    this.#replays.set(recording, { calls, times });
    return calls;
  }

  /** Of all steps together. */
  get flops(): Flops {
    return this.#flops;
  }

  /** The rows of one of `steps` steps, those that take most time first. */
  rows(steps: number): OperatorRow[] {
    for (const { calls, times } of this.#replays.values()) {
      for (const { ms, ...call } of calls)
        this.#add({ ...namesOf(call), calls: times, ms: ms * times, flops: 0 });
    }
    this.#replays.clear();
    const sums = [...this.#sums.values()];
    const total = sums.reduce((sum, { ms }) => sum + ms, 0);
    return sums
      .map(({ name, shapes, calls, ms, flops }) => ({
        ...{ name, shapes, calls: calls / steps, ms: ms / steps },
        ...{ share: total > 0 ? ms / total : 0, gigaflops: flops / steps / 1e9 },
      }))
      .toSorted((a, b) => b.ms - a.ms);
  }

  #add(one: Sum): void {
    const key = `${one.name} ${one.shapes}`;
    const sum = this.#sums.get(key);
    if (!sum) return void this.#sums.set(key, one);
    sum.calls += one.calls;
    sum.ms += one.ms;
    sum.flops += one.flops;
  }
}

/** The name of a call of a replay, and the shape of its result. */
export function namesOf({ op = 'fused program', result }: Pick<ReplayedCall, 'op' | 'result'>) {
  return { name: op, shapes: result ? `→ [${result.shape.join()}]` : '' };
}

const isPowerOfTwo = (count: number): boolean => (count & (count - 1)) === 0;

/** The shapes of tensors; of a list of tensors only the length. */
function shapesOf(args: Parameters<CallObserver>[1]): string {
  const shapes: string[] = [];
  for (const arg of args) {
    if (arg instanceof Tensor) shapes.push(`[${arg.shape.join()}]`);
    else if (Array.isArray(arg) && arg[0] instanceof Tensor) shapes.push(`${arg.length} tensors`);
  }
  return shapes.join(' ');
}
