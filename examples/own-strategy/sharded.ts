// A sharded strategy of one's own: each rank keeps its part of each variable and of optimizer state.
import * as tf from '@tensorflow/tfjs';
import type { Collective, Strategy, StrategyContext, TapeHooks } from '@acc/contract';
import { ddp } from '@acc/ddp';
import { canUpdateShards } from '@acc/kernels';
import {
  DeferredVariable,
  placedStrategy,
  type DistributedUpdate,
  type Placement,
  type Placer,
} from '@acc/fsdp/placement';

export function sharded(): Strategy {
  return placedStrategy(new Sharded());
}

/** A variable of which this rank has some elements. A slice may be a view that keeps all values. */
class Part extends DeferredVariable {
  readonly placement: Placement;

  constructor(full: tf.Variable, group: Collective, { defer }: StrategyContext['kernels']) {
    const length = Math.ceil(full.size / group.size);
    const [begin, end] = [group.rank, group.rank + 1].map((at) => Math.min(at * length, full.size));
    super(full, (values) => tf.tidy(() => values.flatten().slice(begin!, end! - begin!)), {
      defer: defer!,
      load: () => this.gather(group),
      forget: () => this.forget(),
      freed: ({ name }) => new Error(`'${name}' has no values: its Accelerator was freed.`),
      outdated: ({ name }) => new Error(`'${name}' has changed since this tensor was made from it.`),
    });
    this.placement = { kind: 'flat', begin: begin!, end: end! };
  }

  /** Every rank calls it. */
  gather(group: Collective): void {
    if (this.state !== 'released') return;
    const all = group.allGather(this.local);
    this.fill(all, 0);
    all.dispose();
  }

  /** Frees values that have changed. Tensors that shared them lose theirs. */
  forget(): void {
    this.release();
    if (this.isShared && this.state !== 'assigned') this.separate();
  }

  protected override ownMemory(local: tf.Tensor): tf.Tensor {
    return tf.mul(local, 1);
  }
}

class Sharded implements Placer<Part> {
  readonly name = 'sharded';
  readonly traits = { parameters: 'sharded', accumulates: 'afterReduction' } as const;
  readonly inner = ddp();
  readonly tape: TapeHooks = {
    before: (variables) => this.#partsOf(variables).forEach((part) => part.gather(this.group)),
    after: (variables) => this.#partsOf(variables).forEach((part) => part.release()),
  };
  readonly #parts = new Map<tf.Variable, Part>();
  readonly #exposed = new WeakSet<object>();
  #context!: StrategyContext;

  get group(): Collective {
    return this.#context.collective;
  }

  attach(context: StrategyContext): void {
    this.#context = context;
    this.inner.attach(context);
  }

  prepareVariables(variables: readonly tf.Variable[]): void {
    const fresh = variables.filter((variable) => !this.#parts.has(variable));
    this.inner.prepareVariables(fresh);
    for (const full of fresh) this.#parts.set(full, new Part(full, this.group, this.#context.kernels));
  }

  prepareOptimizer(optimizer: tf.Optimizer): void {
    if (!canUpdateShards(optimizer)) throw new Error(`${optimizer.getClassName()} may need whole weights.`);
  }

  beginReduction(variables: readonly tf.Variable[]) {
    const grads = new Map<number, tf.Tensor>();
    return {
      ready: (index: number, grad: tf.Tensor) => void grads.set(index, grad),
      finish: () => {
        const present = this.group.allGatherObject([...grads.keys()]).flat();
        return variables.map((variable, i) => {
          if (!present.includes(i)) return null;
          const grad = grads.get(i) ?? tf.zeros(variable.shape);
          const sum = this.group.allReduceAsync(grad, 'sum', { donate: true }).wait();
          const local = this.#parts.get(variable)!.localOf(sum);
          sum.dispose();
          return local;
        });
      },
    };
  }

  distributed(variable: tf.Variable): Part | undefined {
    return this.#parts.get(variable);
  }

  settle(part: Part): void {
    if (part.state === 'assigned') part.takeOver();
  }

  materialize(part: Part, local: () => tf.Tensor): tf.Tensor {
    this.settle(part);
    return tf.tidy(() => this.group.allGather(local()).reshape(part.full.shape));
  }

  expose(part: Part, local: tf.Tensor): tf.Tensor {
    const all = this.materialize(part, () => local);
    local.dispose();
    this.#exposed.add(all.dataId);
    return all;
  }

  isExposed({ dataId }: tf.Tensor): boolean {
    return this.#exposed.has(dataId);
  }

  exposed(part: Part, grad: tf.Tensor): tf.Tensor {
    return part.localOf(grad);
  }

  update({ distributed }: DistributedUpdate<Part>, run: () => void): void {
    for (const part of distributed.values()) this.settle(part);
    try {
      run();
    } finally {
      for (const part of distributed.values()) part.forget();
    }
  }

  detach(): void {
    for (const part of this.#parts.values()) part.dispose();
    this.#parts.clear();
    this.inner.detach?.();
  }

  #partsOf(variables: readonly tf.Variable[]): Part[] {
    return variables.flatMap((variable) => this.#parts.get(variable) ?? []);
  }
}
