import { tidy, type Optimizer, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import { AccError, isAccError, type Collective, type KernelLayer } from '@acc/contract';
import { canUpdateInGroups, slotListsOf, updateInGroups } from '@acc/kernels';
import { TensorFile } from '@acc/native';
import type { ShardStore, StoredShard, StoredUpdate } from '@acc/placement';
import { needsAcc, needsHost, unknownState } from './errors.js';
import { GradientStore, type StoredGradient } from './gradient-store.js';
import { HostMemory } from './host-memory.js';
import type { ResolvedOffload } from './offload-options.js';
import { storedSlots } from './slots.js';
import type { StoredVariable } from './stored-variable.js';
import { UpdatePipeline, type StoredGroup } from './update-pipeline.js';
import { useArrived, ValueFile, type Fetch } from './value-file.js';
import { VariableStore } from './variable-store.js';

export interface OffloadContext {
  readonly kernels: KernelLayer;
  readonly collective: Collective;
}

/**
 * Keeps optimizer state, parameters or both in a file of this rank, except while they are in use. Those of
 * a device can be kept in memory of the host.
 *
 * @returns Undefined if they are in host memory already.
 * @throws AccError `ACC_STRATEGY_CANNOT`; on every rank, if one of them cannot create its file,
 * `ACC_STORAGE_DENIED`, `ACC_STORAGE_FULL`, `ACC_STORAGE_FAILED`.
 */
export function openOffload(
  options: ResolvedOffload,
  { kernels, collective }: OffloadContext,
): Offload | undefined {
  if (isHere(options, kernels)) {
    if (collective.rank === 0) warnIsHere();
    return undefined;
  }
  if (!canUpdateInGroups()) throw needsAcc(kernels.backendName);
  const places = options.to === 'cpu' ? new HostMemory() : openFile(options.to, collective);
  return new Offload(options, new ValueFile(places, kernels));
}

/**
 * Whether the values are in host memory already.
 *
 * @throws AccError `ACC_STRATEGY_CANNOT` for files of values that are not in host memory.
 */
export function isHere({ to }: ResolvedOffload, { device }: KernelLayer): boolean {
  if (device === 'cpu') return to === 'cpu';
  if (to !== 'cpu') throw needsHost(device);
  return false;
}

/** Says that nothing is moved. */
export function warnIsHere(): void {
  console.warn(
    "acc: fsdp.offload.to is 'cpu', and the device is a CPU: parameters and optimizer state are in host memory already. Give a folder to keep them in files.",
  );
}

/** Values of shards in a file, or in memory of the host. */
export class Offload implements ShardStore<StoredGradient> {
  /** Reads of parameters that were started ahead of their use. */
  readonly #ahead = new Map<readonly StoredShard[], Fetch<StoredVariable>>();
  private readonly store: VariableStore;
  /** Undefined: gradients stay in memory. */
  readonly #gradients: GradientStore | undefined;

  constructor(
    private readonly options: ResolvedOffload,
    private readonly file: ValueFile,
  ) {
    this.store = new VariableStore(file);
    this.#gradients = options.optimizer ? new GradientStore(file) : undefined;
  }

  /** @throws AccError `ACC_STRATEGY_CANNOT`. */
  requireKnown(optimizer: Optimizer): void {
    if (this.options.optimizer && !slotListsOf(optimizer)) throw unknownState(optimizer);
  }

  /** Moves the parameters of a new unit to the file. */
  moveOut(shards: readonly StoredShard[]): void {
    this.store.write(this.#parameters(shards));
  }

  /** Starts to read the parameters of a unit that will be gathered. */
  readAhead(shards: readonly StoredShard[]): void {
    const list = this.#parameters(shards);
    if (list.length === 0 || this.#ahead.has(shards)) return;
    this.#ahead.set(shards, this.store.startRead(list));
  }

  /** Runs `fn` while the parameters of a unit are in memory, to be read. */
  withParameters<T>(shards: readonly StoredShard[], fn: () => T): T {
    const list = this.#parameters(shards);
    if (list.length === 0) return fn();
    try {
      useArrived(this.#takeAhead(shards, list).wait(), (stored, values) => stored.fill(values));
      return fn();
    } finally {
      for (const stored of list) stored.release();
      // Values that a program or a checkpoint has assigned are in memory until now.
      this.store.write(list);
    }
  }

  /** Called before a backward pass. */
  beginPass(): void {
    this.#gradients?.sweep();
  }

  /**
   * Moves complete gradients of this rank's elements out of memory, if the optimizer's state is
   * kept there. They are disposed. The results read them when they are used.
   */
  moveGradients(grads: readonly Tensor[]): Tensor[] {
    return this.#gradients?.put(grads) ?? [...grads];
  }

  /** The gradient that a tensor of {@link moveGradients} stands for, if it is in the file. */
  gradientOf(grad: Tensor): StoredGradient | undefined {
    return this.#gradients?.handleOf(grad)?.stored;
  }

  /** A tensor that stands for a gradient in the file. The caller disposes it. */
  tensorOf(stored: StoredGradient): Tensor {
    return this.#gradients!.tensorOf(stored);
  }

  /** The norm of all gradients together, with one of them at a time in memory. A scalar. */
  norm(grads: readonly Tensor[]): Tensor {
    const { lists } = this.file.kernels;
    const gradients = this.#gradients;
    if (!gradients) return lists.norm(grads);
    return tidy(() => {
      const norms: Tensor[] = [];
      gradients.forEach(grads, (grad) => norms.push(lists.norm([grad])));
      return lists.norm(norms);
    });
  }

  /** Whether `isTrue` holds for each gradient, with one of them at a time in memory. */
  every(grads: readonly Tensor[], isTrue: (grad: Tensor) => boolean): boolean {
    const gradients = this.#gradients;
    if (!gradients) return grads.every(isTrue);
    let are = true;
    gradients.forEach(grads, (grad) => (are &&= isTrue(grad)));
    return are;
  }

  /** See `Strategy.changeGradients`. */
  change(grads: readonly Tensor[], change: (list: Tensor[]) => Tensor[]): Tensor[] {
    return this.#gradients?.change(grads, change) ?? change([...grads]);
  }

  /** Runs an optimizer's update group by group. */
  update({ optimizer, grads, units, apply }: StoredUpdate): void {
    this.#dropAhead();
    const { store, options } = this;
    const held = new Map(units.flat().map(({ full, local }): [string, Variable] => [full.name, local]));
    const slots = options.optimizer ? storedSlots(optimizer, grads, held, store) : new Map<string, never[]>();
    const groups = units.flatMap((shards): StoredGroup | [] => {
      const used = shards.filter(({ full }) => (grads[full.name] as Tensor | null | undefined) != null);
      const stored = [...this.#parameters(used), ...used.flatMap(({ full }) => slots.get(full.name) ?? [])];
      // Ranks have the same groups, because an optimizer may exchange norms in each.
      if (used.length === 0) return [];
      const names = used.map(({ full }) => full.name);
      return {
        names: new Set(names),
        stored,
        grads: names.flatMap((name) => this.#gradients?.handleOf(grads[name]!) ?? []),
      };
    });
    const pipeline = new UpdatePipeline(groups, { file: this.file, store });
    try {
      updateInGroups(pipeline.groups, apply);
      pipeline.finish();
    } finally {
      pipeline.drop();
    }
  }

  /** Removes the file. Values in it are gone. */
  dispose(): void {
    this.#dropAhead();
    this.store.releaseRead();
    this.file.dispose();
  }

  /** This rank's parameters of a unit, as far as they are kept in the file. */
  #parameters(shards: readonly StoredShard[]): StoredVariable[] {
    if (!this.options.params) return [];
    return shards.flatMap(({ local }) => (local.size > 0 ? this.store.of(local) : []));
  }

  #takeAhead(shards: readonly StoredShard[], list: readonly StoredVariable[]): Fetch<StoredVariable> {
    const ahead = this.#ahead.get(shards);
    this.#ahead.delete(shards);
    if (ahead?.isCurrent && ahead.list.length === list.filter(({ isAway }) => isAway).length) return ahead;
    ahead?.drop();
    return this.store.startRead(list);
  }

  #dropAhead(): void {
    for (const fetch of this.#ahead.values()) fetch.drop();
    this.#ahead.clear();
  }
}

/** Every rank calls it. @throws AccError on every rank, if one of them has no file. */
function openFile(folder: string, collective: Collective): TensorFile {
  let file: TensorFile | undefined;
  let failure: unknown;
  try {
    file = new TensorFile(folder, `rank${collective.rank}`);
  } catch (error) {
    failure = error;
  }
  const failures = collective.allGatherObject(failure === undefined ? null : codeAndMessage(failure));
  const lines = failures.flatMap((each, rank) => (each ? `rank ${rank}: ${each[1]}` : []));
  if (lines.length === 0) return file!;
  file?.dispose();
  const [code] = failures.find((each) => each !== null)!;
  throw new AccError(code!, `fsdp.offload: no file can be kept in ${folder}.\n    ${lines.join('\n    ')}`, {
    help: 'Choose a folder on a disk with free space in fsdp.offload.',
    details: { folder, ranks: failures.map((each) => each?.[0] ?? 'ok') },
    cause: failure,
  });
}

const codeAndMessage = (error: unknown): [code: string, message: string] =>
  isAccError(error) ? [error.code, error.message] : ['ACC_STORAGE_FAILED', String(error)];
