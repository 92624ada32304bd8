import { add, backend, tidy } from '@tensorflow/tfjs-core';
import type {
  AdadeltaInternals,
  AdagradInternals,
  AdamaxInternals,
  AdamInternals,
  MomentumInternals,
  RmsPropInternals,
  SgdInternals,
} from '@acc/tfjs-internals';
import { adamUpdate } from './adam-update.js';
import { multiply, valueOf, type Rule } from './rule.js';

/** w ← w + c · g */
export const sgd: Rule<SgdInternals> = {
  open({ c }, step) {
    const rate = step.scalar(-valueOf(c));
    return ({ variable, grad }) =>
      step.registers.update([variable], ([w]) => {
        step.write('ResourceApplyGradientDescent', [w!, rate, step.idOf(grad)]);
      });
  },
};

/** a ← m · a + g; w ← w + c · a, or w + c · (g + m · a) with Nesterov momentum. */
export const momentum: Rule<MomentumInternals> = {
  open({ c, m, useNesterov }, step) {
    const [rate, factor] = step.scalars(-valueOf(c), valueOf(m));
    const nesterov = [step.operators.flag('use_nesterov', useNesterov)];
    return ({ variable, grad, state }) =>
      step.registers.update([variable, ...state], (registers) => {
        const inputs = [...registers, rate!, step.idOf(grad), factor!];
        step.write('ResourceApplyMomentum', inputs, nesterov);
      });
  },
};

/**
 * a ← a + g²; w ← w - lr · g / √(a + ε). TensorFlow's operator has no ε under the root. So it
 * gets a + ε, which it does not change.
 */
export const adagrad: Rule<AdagradInternals> = {
  open({ learningRate }, step) {
    const { registers } = step;
    const [rate, epsilon] = step.scalars(learningRate, backend().epsilon());
    const asGiven = [step.operators.flag('update_slots', false)];
    return ({ variable, grad, state: [sums] }) =>
      registers.update([variable, sums!], ([w, a]) =>
        step.freeing(() => {
          const g = step.idOf(grad);
          const before = step.keep(registers.read(a!).id);
          const after = step.compute('AddV2', before, step.compute('Square', g));
          registers.assign(a!, step.compute('AddV2', after, epsilon!));
          step.write('ResourceApplyAdagrad', [w!, a!, rate!, g], asGiven);
          registers.assign(a!, after);
        }),
      );
  },
};

/**
 * u = g · √(b + ε) / √(a + ε), with a and b before their updates;
 *
 * a ← ρ a + (1 - ρ) g²; b ← ρ b + (1 - ρ) u²; w ← w - lr · u. TensorFlow's own operator takes a
 * after its update, so it is not used.
 */
export const adadelta: Rule<AdadeltaInternals> = {
  open({ learningRate, rho, epsilon }, step) {
    const { registers } = step;
    const [rate, kept, rest, eps] = step.scalars(learningRate, rho, 1 - rho, epsilon);
    const update = ([w, a, b]: readonly number[], g: number) => {
      const [sums, updates] = [a!, b!].map((register) => step.keep(registers.read(register).id));
      const squared = step.compute(
        'RealDiv',
        ...[updates!, sums!].map((x) => step.compute('AddV2', x, eps!)),
      );
      const u = step.compute('Mul', step.compute('Sqrt', squared), g);
      const average = (x: number, y: number) =>
        step.compute(
          'AddV2',
          step.compute('Mul', x, kept!),
          step.compute('Mul', step.compute('Square', y), rest!),
        );
      registers.assign(a!, average(sums!, g));
      registers.assign(b!, average(updates!, u));
      step.write('ResourceApplyGradientDescent', [w!, rate!, u]);
    };
    return ({ variable, grad, state }) =>
      registers.update([variable, ...state], (all) => step.freeing(() => update(all, step.idOf(grad))));
  },
};

/**
 * s ← decay · s + (1 - decay) g²; a ← momentum · a + lr · g / √(s + ε); w ← w - a.
 *
 * If centered: m ← decay · m + (1 - decay) g, and the root is √(s - (m² + ε)). TensorFlow's centered
 * operator adds its ε, so it gets -ε.
 */
export const rmsprop: Rule<RmsPropInternals> = {
  open({ learningRate, decay, momentum: factor, epsilon, centered }, step) {
    const scalars = step.scalars(learningRate, decay, factor, centered ? -epsilon : epsilon);
    return ({ variable, grad, state }) =>
      step.registers.update([variable, ...state], ([w, s, a, m]) => {
        if (centered) {
          step.write('ResourceApplyCenteredRMSProp', [w!, m!, s!, a!, ...scalars, step.idOf(grad)]);
        } else {
          step.write('ResourceApplyRMSProp', [w!, s!, a!, ...scalars, step.idOf(grad)]);
        }
      });
  },
};

/**
 * m ← β₁ m + (1 - β₁) g; v ← β₂ v + (1 - β₂) g²; w ← w - lr · m̂ / (√v̂ + ε),
 *
 * where m̂ = m / (1 - accBeta1) and v̂ = v / (1 - accBeta2).
 */
export const adam: Rule<AdamInternals> = {
  open({ accBeta1, accBeta2, ...constants }, step) {
    return adamUpdate(step, { ...constants, power1: valueOf(accBeta1), power2: valueOf(accBeta2) });
  },
  advance({ accBeta1, accBeta2, beta1, beta2 }) {
    multiply(accBeta1, beta1);
    multiply(accBeta2, beta2);
  },
};

/**
 * m ← β₁ m + (1 - β₁) g; u ← max(β₂ u, |g|);
 *
 * w ← w - lr / (1 + decay · iteration) / (1 - accBeta1) · m / (u + ε).
 */
export const adamax: Rule<AdamaxInternals> = {
  open({ learningRate, beta1, beta2, epsilon, decay, iteration, accBeta1 }, step) {
    const rate = learningRate / (1 + valueOf(iteration) * decay);
    const scalars = step.scalars(valueOf(accBeta1), rate, beta1, beta2, epsilon);
    return ({ variable, grad, state }) =>
      step.registers.update([variable, ...state], (registers) => {
        step.write('ResourceApplyAdaMax', [...registers, ...scalars, step.idOf(grad)]);
      });
  },
  advance({ iteration, accBeta1, beta1 }) {
    tidy(() => iteration.assign(add(iteration, 1)));
    multiply(accBeta1, beta1);
  },
};
