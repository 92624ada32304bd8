import type { KernelConfig, TensorInfo } from '@tensorflow/tfjs-core';
import { LINEAR_RULES, RULES, SAME_DATA, type ShardedCall } from '@acc/sharding-rules';
import { replaceKernel } from '@acc/tfjs-internals';
import { compareReplicated } from './compare-replicated.js';
import { withoutRule } from './errors.js';
import { grows } from './growing.js';
import type { Kernels } from './kernels.js';
import { PlanCache } from './plan-cache.js';
import type { LocalTensors } from './local-tensors.js';
import {
  inputsOf,
  localPlan,
  runOnLocal,
  type Inputs,
  type KernelCall,
  type LocalPlan,
} from './run-on-local.js';
import type { CallAttrs, CallInputs } from './signature.js';
import { SPECIAL, type Special, type SpecialContext } from './special/table.js';
import { untracked } from './tensor-info.js';

/** A kernel with what its calls need. */
interface CutKernel {
  readonly config: KernelConfig;
  readonly special: Special | undefined;
  /** The plan of a call, or why there is none. */
  readonly plans: PlanCache<LocalPlan | string>;
}

const NO_ATTRS: CallAttrs = {};

/**
 * Wraps all kernels of a backend. A call with a cut input, or a partial sum, runs on this rank's
 * shard by the rule of its kernel. A partial sum is added up over ranks when a kernel that is not
 * linear needs it; its data is then whole, so a second use costs nothing.
 */
export class LocalKernels {
  readonly #context: SpecialContext;
  readonly #tools: { readonly kernels: Kernels; readonly shards: LocalTensors };
  readonly #kernels = new Map<string, CutKernel>();
  /** Whether ranks have compared what a kernel was given whole. */
  #isCompared = false;

  constructor(
    private readonly kernels: Kernels,
    private readonly shards: LocalTensors,
  ) {
    this.#tools = { kernels, shards };
    this.#context = {
      ...{ kernels, shards },
      run: (name, inputs, attrs) => this.#runNamed(name, inputs, attrs),
      planOf: (name, inputs, attrs) => this.#kernels.get(name)!.plans.of(inputs, attrs),
      runPlanned: (name, inputs, plan) => this.#runPlanned(name, inputs, plan),
    };
    for (const config of kernels.configs) {
      const { kernelName } = config;
      if (SAME_DATA.has(kernelName)) continue;
      const special = SPECIAL.get(kernelName);
      const plans = new PlanCache(shards, (inputs, attrs) => this.#plan(kernelName, inputs, attrs));
      const kernel = { config, special, plans };
      this.#kernels.set(kernelName, kernel);
      replaceKernel({ ...config, kernelFunc: (call) => this.#run(kernel, call) });
    }
  }

  /** Restores the original kernels of the backend. */
  restore(): void {
    for (const { config } of this.#kernels.values()) replaceKernel(config);
  }

  #runNamed(name: string, inputs: Readonly<Record<string, TensorInfo>>, attrs: object = {}): TensorInfo {
    const { backend } = this.kernels;
    const call = { inputs, attrs: attrs as never, backend };
    return untracked(this.#run(this.#kernels.get(name)!, call) as TensorInfo, backend);
  }

  #runPlanned(name: string, inputs: Readonly<Record<string, TensorInfo>>, plan: LocalPlan): TensorInfo {
    const { backend } = this.kernels;
    const { config } = this.#kernels.get(name)!;
    return untracked(runOnLocal(config, { inputs, backend }, plan, this.#tools) as TensorInfo, backend);
  }

  #run({ config, special, plans }: CutKernel, call: KernelCall): TensorInfo | TensorInfo[] {
    const { kernelName, kernelFunc } = config;
    if (!this.#hasCut(call)) return special?.ofWhole?.(this.#context, call) ?? kernelFunc(call);
    const inputs = call.inputs as CallInputs;
    if (!this.#isCompared) this.#isCompared = compareReplicated(inputs, this.shards);
    // Each round leaves fewer inputs that are not whole.
    for (;;) {
      const given = special?.whenSharded?.(this.#context, call);
      if (given) return given;
      const plan = plans.of(inputs, call.attrs ?? NO_ATTRS);
      const reason = typeof plan === 'string' ? plan : this.#problemWith(plan, inputs);
      if (reason === undefined) return runOnLocal(config, call, plan as LocalPlan, this.#tools);
      const there = inputsOf(inputs);
      if (!this.#simplify(there)) throw withoutRule(kernelName, reason, there, this.shards);
      if (!this.#hasCut(call)) return kernelFunc(call);
    }
  }

  /** Whether any input of a call is in shards. */
  #hasCut({ inputs }: KernelCall): boolean {
    for (const name in inputs) {
      const x = inputs[name] as TensorInfo | null | undefined;
      if (x != null && this.shards.isCut(x)) return true;
    }
    return false;
  }

  #plan(kernelName: string, inputs: CallInputs, attrs: CallAttrs): LocalPlan | string {
    const there = inputsOf(inputs);
    const call = this.shards.callOf(there, attrs);
    if (!call) return 'takes a tensor whose shards a reshape has split';
    const hasRows = call.names.some((name) => call.rows(name));
    const rule = (hasRows ? RULES : LINEAR_RULES).get(kernelName);
    if (!rule) return hasRows ? 'cannot run on a shard of its inputs' : 'is not linear';
    if (!hasRows && mixesWhole(call, kernelName)) return 'adds a sum to a whole tensor';
    if (!hasRows && grows(call, kernelName)) return 'repeats a sum';
    const plan = rule(call);
    return typeof plan === 'string' ? plan : localPlan(plan, there, attrs, this.shards);
  }

  /** Why a plan cannot be followed with these inputs. */
  #problemWith({ cutsWhole, operands }: LocalPlan, inputs: CallInputs): string | undefined {
    if (!cutsWhole) return undefined;
    for (const { name, cut } of operands)
      if (cut && !this.shards.local.canCut(inputs[name]!)) return 'takes a result that was computed whole';
    return undefined;
  }

  /** Makes one kind of input whole, or rows like another input. Returns whether there was one. */
  #simplify(inputs: Inputs): boolean {
    const { shards } = this;
    const sums = inputs.filter(([, x]) => shards.isSum(x));
    const gathered = inputs.filter(([, x]) => shards.gathers(x));
    for (const [, x] of sums) {
      const like = gathered.find(([, other]) => other.shape.length === x.shape.length);
      const state = like && shards.stateOf(like[1]);
      const fits = state?.kind === 'rows' && x.shape[state.at.dim] === like![1].shape[state.at.dim];
      if (fits) shards.makeRows(x, state.at, true);
      else shards.addUp(x);
    }
    if (sums.length > 0) return true;
    for (const [, x] of gathered) shards.gatherFull(x);
    return gathered.length > 0;
  }
}

/**
 * Whether a whole input is to be added to sums. The division of it over ranks that the rules for
 * shards in one process have would cost a multiplication.
 */
function mixesWhole(call: ShardedCall, kernelName: string): boolean {
  return ADDITIVE.has(kernelName) && call.names.some((name) => call.isWhole(name));
}

const ADDITIVE: ReadonlySet<string> = new Set(['Add', 'AddN', 'Sub', 'Concat', 'Pack']);
