import {
  scalar,
  tidy,
  util,
  type NamedTensorMap,
  type Optimizer,
  type Tensor,
  type Variable,
} from '@tensorflow/tfjs-core';
import {
  boundMembers,
  isThere,
  type Strategy,
  type StrategyContext,
  type StrategyGradients,
  type StrategyLayout,
  type TensorShard,
} from '@acc/contract';
import { registeredVariable, withShards } from '@acc/kernels';
import { boxesInFull, fullBox } from './boxes.js';
import type { DistributedVariable } from './distributed-variable.js';
import { areFinite, normOver, onEveryRank } from './norm.js';
import { OWN_MEMBERS, type DistributedUpdate, type GradientLists, type Placer } from './placer.js';
import { shardedUpdateOf } from './sharded-update.js';
import { withLocalRegistered } from './with-local-registered.js';

/** The members of a strategy that are the same for every placer. */
const SHARED_MEMBERS = [
  'gradients',
  'globalNorm',
  'allFinite',
  'changeGradients',
  'materialize',
  'update',
  'layout',
] as const satisfies readonly (keyof Strategy)[];

/** By strategy: its placers, outermost first, and the strategy within the last one. */
const chains = new WeakMap<Strategy, Chain>();

interface Chain {
  readonly placers: readonly Placer[];
  readonly base: Strategy;
}

/**
 * The strategy that distributes variables as `placer` says. Its inner strategy may be another of these:
 * a variable can lie on the ranks along several axes, each of which distributes what the one before has
 * left on this rank.
 */
export function placedStrategy(placer: Placer): Strategy {
  const inside = chains.get(placer.inner) ?? { placers: [], base: placer.inner };
  const chain = { placers: [placer, ...inside.placers], base: inside.base };
  const shared = new PlacedVariables(chain);
  const strategy: Strategy = {
    ...boundMembers<Strategy>(placer as unknown as Strategy, OWN_MEMBERS),
    ...boundMembers<Pick<Strategy, (typeof SHARED_MEMBERS)[number]>>(shared, SHARED_MEMBERS),
    attach(context) {
      shared.attach(context);
      placer.attach(context);
    },
  };
  chains.set(strategy, chain);
  return strategy;
}

/** A variable along one of the axes that distribute it. */
interface Link {
  readonly placer: Placer;
  readonly variable: DistributedVariable;
}

/** A variable of a program, and how it is distributed, outermost axis first. */
interface Distribution {
  readonly variable: Variable;
  readonly links: readonly Link[];
  /** The variable that the base strategy and optimizers have. */
  readonly local: Variable;
}

/** The work of strategies on distributed variables, whatever axes distribute them. */
class PlacedVariables implements Pick<Strategy, (typeof SHARED_MEMBERS)[number]> {
  readonly #placers: readonly Placer[];
  readonly #base: Strategy;
  #context!: StrategyContext;
  readonly gradients: StrategyGradients = {
    full: (grads, variables) => this.#fullGradients(grads, variables),
    local: (grads) => this.#localGradients(grads),
  };
  readonly layout: StrategyLayout = {
    shardsOf: (variable) => this.#shardsOf(variable),
    localOf: (variable) => this.#localOf(variable),
  };

  constructor({ placers, base }: Chain) {
    this.#placers = placers;
    this.#base = base;
  }

  attach(context: StrategyContext): void {
    this.#context = context;
  }

  #fullGradients(grads: readonly (Tensor | null)[], variables: readonly Variable[]): (Tensor | null)[] {
    const distributions = variables.map((variable) => this.#distributionOf(variable));
    const locals = distributions.map(({ local }) => local);
    const ofBase = this.#base.gradients?.full(grads, locals) ?? grads;
    return ofBase.map((grad, i) => {
      if (!grad) return null;
      const inwards = [...distributions[i]!.links].reverse();
      return inwards.reduce((local, { placer, variable }) => placer.expose(variable, local), grad);
    });
  }

  #localGradients(grads: NamedTensorMap): NamedTensorMap | undefined {
    const distributions = this.#distributionsIn(grads);
    const areExposed = [...distributions].some(([name, { links }]) => isExposed(links, grads[name]));
    const { gradients } = this.#base;
    if (!areExposed && !gradients) return undefined;
    const local = { ...grads };
    localize(local, distributions);
    const ofBase = withLocalRegistered(distributions.values(), () => gradients?.local(local));
    if (!ofBase) {
      if (areExposed) return local;
      disposeNew(local, grads);
      return undefined;
    }
    for (const [name, grad] of Object.entries(local))
      if (grad !== grads[name] && grad !== ofBase[name]) grad.dispose();
    return ofBase;
  }

  globalNorm(grads: NamedTensorMap): Tensor {
    const distributions = this.#distributionsIn(grads);
    const groups: NamedTensorMap[] = Array.from({ length: 2 ** this.#placers.length }, () => ({}));
    for (const [name, grad] of Object.entries(grads)) {
      if (!isThere(grad)) continue;
      const over = this.#placers.map((placer) =>
        distributions.get(name)?.links.some((link) => link.placer === placer),
      );
      const subset = over.reduce((bits, isOver, axis) => bits + (isOver ? 2 ** axis : 0), 0);
      groups[subset]![name] = grad;
    }
    const axes = this.#placers.map(({ group }) => group);
    return tidy(() => {
      const norms = withLocalRegistered(distributions.values(), () =>
        groups.map((each) => this.#normOf(each)),
      );
      return normOver(norms, axes);
    });
  }

  allFinite(grads: readonly Tensor[]): boolean {
    const { collective } = this.#context;
    if (this.#base.allFinite) return onEveryRank(this.#base.allFinite(grads), collective);
    return areFinite(grads, this.#lists, collective);
  }

  changeGradients(grads: readonly Tensor[], change: (list: Tensor[]) => Tensor[]): Tensor[] {
    return this.#base.changeGradients?.(grads, change) ?? this.#lists.change(grads, change);
  }

  materialize(variables: readonly Variable[]): Tensor[] {
    return variables.map((variable) => {
      const { links, local } = this.#distributionOf(variable);
      const values = () => this.#base.materialize?.([local])[0] ?? local.clone();
      return [...links]
        .reverse()
        .reduce((inner, link) => () => link.placer.materialize(link.variable, inner), values)();
    });
  }

  update(grads: NamedTensorMap, apply: (grads: NamedTensorMap) => void, optimizer: Optimizer): void {
    const record = this.#complete(grads);
    const distributions = this.#distributionsIn(record);
    const local = { ...record };
    const base = () => {
      if (this.#base.update) this.#base.update(local, apply, optimizer);
      else apply(local);
    };
    const updates = this.#placers.map((placer) => ({
      placer,
      update: { optimizer, grads: local, distributed: variablesOf(placer, distributions) },
    }));
    const inwards = updates.reverse();
    const applyAll = inwards.reduce(
      (inner, { placer, update }) => (placer.applyUpdate ? () => placer.applyUpdate!(update, inner) : inner),
      base,
    );
    const run = inwards.reduce(
      (inner, { placer, update }) => updating(placer, update, inner),
      () => withLocalRegistered(distributions.values(), applyAll),
    );
    try {
      localize(local, distributions);
      run();
    } finally {
      disposeNew(local, grads);
    }
  }

  #shardsOf(variable: Variable): readonly TensorShard[] | undefined {
    const { links, local } = this.#distributionOf(variable);
    for (const link of links) link.variable.requirePacked?.();
    const boxes = this.#base.layout?.shardsOf(local);
    if (links.length === 0) return boxes;
    return [...links].reverse().reduce(
      (inner, { placer: { group }, variable: { full, placement, storage } }) => {
        const { shape } = storage ?? full;
        return boxesInFull(inner, { shape, placement, rank: group.rank, ranks: group.size });
      },
      boxes ?? [fullBox(local.shape)],
    );
  }

  #localOf(variable: Variable): Variable | undefined {
    const { links, local } = this.#distributionOf(variable);
    for (const link of links) link.placer.settle(link.variable);
    return this.#base.layout?.localOf?.(local) ?? (links.length > 0 ? local : undefined);
  }

  /** Every rank calls it equally often. */
  #normOf(grads: NamedTensorMap): Tensor {
    if (this.#base.globalNorm) return this.#base.globalNorm(grads);
    const list = Object.values(grads);
    return list.length > 0 ? this.#lists.norm(list) : scalar(0);
  }

  get #lists(): GradientLists {
    const given = this.#placers.flatMap(({ lists }) => lists ?? []);
    return given[0] ?? listsInMemory(this.#context);
  }

  #complete(grads: NamedTensorMap): NamedTensorMap {
    return this.#placers.reduce((record, placer, at) => {
      const outer = this.#placers.slice(0, at);
      const variableOf = (name: string) => {
        const variable = registeredVariable(name);
        return variable && outer.reduce((each, one) => one.distributed(each)?.local ?? each, variable);
      };
      return placer.completeUpdate?.(record, variableOf) ?? record;
    }, grads);
  }

  #distributionOf(variable: Variable): Distribution {
    const links: Link[] = [];
    let local = variable;
    for (const placer of this.#placers) {
      const distributed = placer.distributed(local);
      if (!distributed) continue;
      links.push({ placer, variable: distributed });
      ({ local } = distributed);
    }
    return { variable, links, local };
  }

  /** The variables in a record that an axis distributes, by name. */
  #distributionsIn(grads: NamedTensorMap): Map<string, Distribution> {
    const distributions = new Map<string, Distribution>();
    for (const name of Object.keys(grads)) {
      const variable = registeredVariable(name);
      const distribution = variable && this.#distributionOf(variable);
      if (distribution && distribution.links.length > 0) distributions.set(name, distribution);
    }
    return distributions;
  }
}

type Distributions = ReadonlyMap<string, Distribution>;

/** The variables that one axis distributes, by the names that programs know. */
function variablesOf(placer: Placer, distributions: Distributions): Map<string, DistributedVariable> {
  const variables = new Map<string, DistributedVariable>();
  for (const [name, { links }] of distributions) {
    const link = links.find((each) => each.placer === placer);
    if (link) variables.set(name, link.variable);
  }
  return variables;
}

/** Runs an update as a placer wants it. Optimizers know how its axis shares elements. */
function updating(placer: Placer, update: DistributedUpdate, inner: () => void): () => void {
  const { distributed } = update;
  const isByElements = [...distributed.values()].some(({ placement }) => placement.kind !== 'owner');
  const sharing = () => {
    if (isByElements) withShards(shardedUpdateOf(distributed, placer.group), inner);
    else inner();
  };
  return placer.update ? () => placer.update!(update, sharing) : sharing;
}

function isExposed(links: readonly Link[], grad: Tensor | null | undefined): boolean {
  return isThere(grad) && links.some(({ placer }) => placer.isExposed(grad));
}

/** Puts this rank's elements in the place of each gradient. Tensors that are new belong to the caller. */
function localize(grads: NamedTensorMap, distributions: Distributions): void {
  for (const [name, { links, local }] of distributions) {
    const grad = grads[name];
    if (!isThere(grad)) continue;
    // A reduction returned this rank's elements.
    if (!isExposed(links, grad) && util.arraysEqual(grad.shape, local.shape)) continue;
    grads[name] = links.reduce((outer, { placer, variable }) => {
      const inner = placer.isExposed(outer) ? placer.exposed(variable, outer) : localOf(outer, variable);
      if (inner !== outer && outer !== grad) outer.dispose();
      return inner;
    }, grad);
  }
}

/** A gradient that is not in the shape of all elements has this rank's already. */
function localOf(grad: Tensor, variable: DistributedVariable): Tensor {
  const hasAll = util.arraysEqual(grad.shape, variable.full.shape);
  return hasAll ? variable.localOf(grad) : grad;
}

function disposeNew(local: NamedTensorMap, grads: NamedTensorMap): void {
  for (const [name, grad] of Object.entries(local) as [string, Tensor | null][])
    if (grad !== grads[name]) grad?.dispose();
}

const listsInMemory = ({ kernels: { lists } }: StrategyContext): GradientLists => ({
  norm: (grads) => lists.norm(grads),
  every: (grads, isTrue) => grads.every(isTrue),
  change: (grads, change) => change([...grads]),
});
