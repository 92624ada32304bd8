// A strategy that uses the public interface only. Each rank holds a slice of a flat buffer for each
// unit. Units are gathered before an operator uses one of their parameters, and released after it.
// Gradients are reduce-scattered as soon as all gradients of a unit are complete.
import * as tf from '@tensorflow/tfjs';
import type { Collective, GradientReduction, Pending, Strategy, StrategyContext } from '@acc/contract';

/** Parameters that are gathered together. */
interface Unit {
  readonly variables: readonly tf.Variable[];
  /** The start of each parameter in the flat buffer. */
  readonly offsets: readonly number[];
  /** The number of elements of each rank, including the padding at the end. */
  readonly chunk: number;
  /** This rank's slice, which optimizers update. */
  readonly shard: tf.Variable;
  /** The number of operators that use it now. */
  uses: number;
}

export interface ShardedStrategy extends Strategy {
  /** The number of elements that this rank keeps between steps. */
  readonly keptElements: () => number;
  /** The number of times that a unit was gathered. */
  readonly gathers: () => number;
}

/** @param unitSize The number of variables in a unit. */
export function shardedStrategy(unitSize = 2): ShardedStrategy {
  const units: Unit[] = [];
  const unitOf = new Map<tf.Variable, Unit>();
  let gathers = 0;
  let collective: Collective;
  const unitsOf = (variables: readonly tf.Variable[]) => [
    ...new Set(variables.flatMap((variable) => unitOf.get(variable) ?? [])),
  ];

  /** The parameters of a unit, inside a tidy. */
  const whole = (unit: Unit) => {
    gathers++;
    const flat = collective.allGather(unit.shard, { even: true });
    return unit.variables.map((variable, i) =>
      flat.slice(unit.offsets[i]!, variable.size).reshape(variable.shape),
    );
  };
  const release = (variable: tf.Variable) => tf.tidy(() => variable.assign(tf.fill(variable.shape, NaN)));

  const addUnit = (variables: readonly tf.Variable[]) => {
    const { rank, size } = collective;
    const offsets = variables.map((_, i) => variables.slice(0, i).reduce((sum, each) => sum + each.size, 0));
    const length = offsets.at(-1)! + variables.at(-1)!.size;
    const chunk = Math.ceil(length / size);
    const shard = tf.tidy(() => {
      const flat = tf.concat([...variables.map((each) => each.flatten()), tf.zeros([chunk * size - length])]);
      return tf.variable(collective.broadcast(flat).slice(rank * chunk, chunk));
    });
    const unit: Unit = { variables, offsets, chunk, shard, uses: 0 };
    units.push(unit);
    for (const variable of variables) {
      unitOf.set(variable, unit);
      release(variable);
    }
  };

  /** The start of the rank's slice in a variable, and its length in the variable. */
  const ownRange = (unit: Unit, i: number): [begin: number, size: number] => {
    const { size } = unit.variables[i]!;
    const first = collective.rank * unit.chunk - unit.offsets[i]!;
    const begin = Math.min(Math.max(first, 0), size);
    return [begin, Math.min(Math.max(first + unit.chunk, 0), size) - begin];
  };

  return {
    name: 'sharded',
    traits: { parameters: 'sharded', accumulates: 'afterReduction' },
    attach: (context: StrategyContext) => void ({ collective } = context),
    prepareVariables(variables) {
      for (let i = 0; i < variables.length; i += unitSize) addUnit(variables.slice(i, i + unitSize));
    },
    tape: {
      before(variables) {
        for (const unit of unitsOf(variables)) {
          if (unit.uses++ > 0) continue;
          whole(unit).forEach((value, i) => unit.variables[i]!.assign(value));
        }
      },
      after(variables) {
        for (const unit of unitsOf(variables)) if (--unit.uses === 0) unit.variables.forEach(release);
      },
      pack: (_, variable) =>
        variable && unitOf.has(variable) ? { unpack: () => variable.clone(), dispose: () => {} } : undefined,
    },
    beginReduction: (variables) => reductionOf(variables),
    update(grads, apply) {
      const own: tf.NamedTensorMap = {};
      tf.tidy(() => {
        for (const unit of units) {
          const pieces = unit.variables.map(
            ({ name }, i) => (grads[name] as tf.Tensor | null) ?? tf.zeros([ownRange(unit, i)[1]]),
          );
          const filling = unit.chunk - pieces.reduce((sum, piece) => sum + piece.size, 0);
          own[unit.shard.name] = tf.keep(tf.concat([...pieces, tf.zeros([filling])]));
        }
      });
      apply(own);
      tf.dispose(own);
    },
    globalNorm: (grads) =>
      tf.tidy(() => {
        const squares = Object.values(grads).map((grad) => grad.square().sum());
        return tf.sqrt(collective.allReduce(tf.addN(squares), 'sum'));
      }),
    allFinite: (grads) =>
      tf.tidy(() => {
        const own = tf
          .concat([tf.zeros([1]), ...grads])
          .isFinite()
          .all();
        return collective.allReduce(own.toFloat(), 'min').dataSync()[0] === 1;
      }),
    materialize: (variables) =>
      variables.map((variable) =>
        tf.tidy(() => {
          const unit = unitOf.get(variable);
          return unit ? whole(unit)[unit.variables.indexOf(variable)]! : variable.clone();
        }),
      ),
    detach() {
      for (const { shard } of units.splice(0)) shard.dispose();
      unitOf.clear();
    },
    keptElements: () => units.reduce((sum, { shard }) => sum + shard.size, 0),
    gathers: () => gathers,
  };

  function reductionOf(variables: readonly tf.Variable[]): GradientReduction {
    const grads = new Map<tf.Variable, tf.Tensor>();
    const travelling = new Map<Unit, Pending<tf.Tensor>>();
    const launch = (unit: Unit) => {
      const flat = tf.tidy(() => {
        const parts = unit.variables.map((each) => grads.get(each)?.flatten() ?? tf.zeros([each.size]));
        const length = parts.reduce((sum, part) => sum + part.size, 0);
        return tf.concat([...parts, tf.zeros([unit.chunk * collective.size - length])]);
      });
      for (const each of unit.variables) grads.get(each)?.dispose();
      travelling.set(unit, collective.reduceScatterAsync(flat, 'sum', { donate: true, agreed: true }));
    };
    return {
      ready(index, grad) {
        const variable = variables[index]!;
        grads.set(variable, grad);
        const unit = unitOf.get(variable)!;
        if (unit.variables.every((each) => grads.has(each))) launch(unit);
      },
      finish() {
        for (const unit of unitsOf(variables)) if (!travelling.has(unit)) launch(unit);
        const shards = new Map([...travelling].map(([unit, pending]) => [unit, pending.wait()]));
        const pieces = variables.map((variable) => {
          const unit = unitOf.get(variable)!;
          const place = unit.variables.indexOf(variable);
          const [begin, size] = ownRange(unit, place);
          const start = begin + unit.offsets[place]! - collective.rank * unit.chunk;
          return size === 0 ? tf.zeros([0]) : shards.get(unit)!.slice(start, size);
        });
        tf.dispose([...shards.values()]);
        return pieces;
      },
    };
  }
}
