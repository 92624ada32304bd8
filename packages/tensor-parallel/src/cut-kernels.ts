import type { KernelConfig, TensorInfo } from '@tensorflow/tfjs-core';
import { LINEAR_RULES, RULES, SAME_DATA, type Plan, type ShardedCall } from '@acc/sharding-rules';
import { replaceKernel } from '@acc/tfjs-internals';
import { withoutRule } from './errors.js';
import type { Kernels } from './kernels.js';
import type { Pieces } from './pieces.js';
import { inputsOf, runOnPiece, type Inputs, type KernelCall } from './run-on-piece.js';
import { SPECIAL, type SpecialContext } from './special/table.js';
import { untracked } from './tensor-info.js';

/**
 * Wraps all kernels of a backend. A call with a cut input, or a partial sum, runs on this rank's
 * piece by the rule of its kernel. A partial sum is added up over ranks when a kernel that is not
 * linear needs it; its data is then whole, so a second use costs nothing.
 */
export class CutKernels {
  readonly #context: SpecialContext;

  constructor(
    private readonly kernels: Kernels,
    private readonly pieces: Pieces,
  ) {
    this.#context = { kernels, pieces, run: (name, inputs, attrs) => this.#runNamed(name, inputs, attrs) };
    for (const config of kernels.configs) {
      replaceKernel({ ...config, kernelFunc: (call) => this.#run(config, call) });
    }
  }

  /** Restores the original kernels of the backend. */
  restore(): void {
    for (const config of this.kernels.configs) replaceKernel(config);
  }

  #runNamed(name: string, inputs: Readonly<Record<string, TensorInfo>>, attrs: object = {}): TensorInfo {
    const { backend } = this.kernels;
    const call = { inputs, attrs: attrs as never, backend };
    return untracked(this.#run(this.kernels.config(name), call) as TensorInfo, backend);
  }

  #run(config: KernelConfig, call: KernelCall): TensorInfo | TensorInfo[] {
    const { kernelName, kernelFunc } = config;
    if (SAME_DATA.has(kernelName)) return kernelFunc(call);
    const { pieces, kernels } = this;
    const special = SPECIAL.get(kernelName);
    if (!this.#hasCut(call)) return special?.ofWhole?.(this.#context, call) ?? kernelFunc(call);
    const inputs = inputsOf(call);
    // Each round leaves fewer inputs that are not whole.
    for (;;) {
      const given = special?.ofCut?.(this.#context, call);
      if (given) return given;
      const plan = this.#plan(kernelName, call, inputs);
      if (typeof plan !== 'string') return runOnPiece(config, call, { inputs, plan }, { pieces, kernels });
      if (!this.#simplify(inputs)) throw withoutRule(kernelName, plan, inputs, pieces);
      if (!this.#hasCut(call)) return kernelFunc(call);
    }
  }

  /** Whether any input of a call is in pieces. */
  #hasCut({ inputs }: KernelCall): boolean {
    for (const name in inputs) {
      const x = inputs[name] as TensorInfo | null | undefined;
      if (x != null && this.pieces.isCut(x)) return true;
    }
    return false;
  }

  #plan(kernelName: string, { attrs = {} }: KernelCall, inputs: Inputs): Plan | string {
    const call = this.pieces.callOf(inputs, attrs);
    if (!call) return 'takes a tensor whose pieces a reshape has split';
    const hasRows = call.names.some((name) => call.rows(name));
    const rule = (hasRows ? RULES : LINEAR_RULES).get(kernelName);
    if (!rule) return hasRows ? 'cannot run on a piece of its inputs' : 'is not linear';
    if (!hasRows && mixesWhole(call, kernelName)) return 'adds a sum to a whole tensor';
    const plan = rule(call);
    if (typeof plan === 'string') return plan;
    const { cuts } = plan;
    const isComputedWhole =
      cuts !== undefined &&
      inputs.some(([name, x]) => cuts.has(name) && !this.pieces.isCut(x) && !this.pieces.local.canCut(x));
    return isComputedWhole ? 'takes a result that was computed whole' : plan;
  }

  /** Makes one kind of input whole, or rows like another input. Returns whether there was one. */
  #simplify(inputs: Inputs): boolean {
    const { pieces } = this;
    const sums = inputs.filter(([, x]) => pieces.isSum(x));
    const gathered = inputs.filter(([, x]) => pieces.gathers(x));
    for (const [, x] of sums) {
      const like = gathered.find(([, other]) => other.shape.length === x.shape.length);
      const state = like && pieces.stateOf(like[1]);
      const fits = state?.kind === 'rows' && x.shape[state.at.dim] === like![1].shape[state.at.dim];
      if (fits) pieces.makeRows(x, state.at, true);
      else pieces.addUp(x);
    }
    if (sums.length > 0) return true;
    for (const [, x] of gathered) pieces.makeWhole(x);
    return gathered.length > 0;
  }
}

/**
 * Whether a whole input is to be added to sums. The division of it over ranks that the rules for
 * pieces in one process have would cost a multiplication.
 */
function mixesWhole(call: ShardedCall, kernelName: string): boolean {
  return ADDITIVE.has(kernelName) && call.names.some((name) => call.isWhole(name));
}

const ADDITIVE: ReadonlySet<string> = new Set(['Add', 'AddN', 'Sub', 'Concat', 'Pack']);
