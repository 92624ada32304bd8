import {
  AdadeltaOptimizer,
  AdagradOptimizer,
  AdamaxOptimizer,
  AdamOptimizer,
  env,
  MomentumOptimizer,
  RMSPropOptimizer,
  SGDOptimizer,
  type Optimizer,
  type Variable,
} from '@tensorflow/tfjs-core';
import { optimizerInternals } from '@acc/tfjs-internals';
import { activeAcc } from '#platform/active-acc';
import type { AccBackend } from '../../backend.js';
import { registeredVariable } from '../../live-variables.js';
import { namedGradients, updatesOf, type Gradients, type NamedGradient } from '../slots.js';
import { adadelta } from '../tfjs/adadelta.js';
import { adagrad } from '../tfjs/adagrad.js';
import { adam } from '../tfjs/adam.js';
import { adamax } from '../tfjs/adamax.js';
import { momentum } from '../tfjs/momentum.js';
import { rmsprop } from '../tfjs/rmsprop.js';
import { sgd } from '../tfjs/sgd.js';
import type { FusedRule } from './fused-rule.js';
import { takeStep } from './take-step.js';

/** Keyed by the exact class: a subclass may take other steps. */
const RULES: ReadonlyMap<unknown, FusedRule<never>> = new Map<unknown, FusedRule<never>>([
  [SGDOptimizer, sgd],
  [MomentumOptimizer, momentum],
  [AdagradOptimizer, adagrad],
  [AdadeltaOptimizer, adadelta],
  [RMSPropOptimizer, rmsprop],
  [AdamOptimizer, adam],
  [AdamaxOptimizer, adamax],
]);

/**
 * `optimizer.applyGradients` in a few native calls, for tfjs's own optimizers; undefined for
 * others. tfjs's own method takes the steps that cannot run on lists ({@link takeStep}), and all
 * steps in debug mode, where tfjs checks the result of every operation.
 */
export function fusedApply(optimizer: Optimizer): Optimizer['applyGradients'] | undefined {
  const ofClass = optimizer.constructor.prototype as Optimizer;
  const rule = RULES.get(optimizer.constructor) as FusedRule<Optimizer> | undefined;
  if (!rule) return undefined;
  return (given) => {
    const backend = backendForLists();
    if (!backend || !applyFused(backend, optimizer, rule, given)) {
      ofClass.applyGradients.call(optimizer, given);
    }
  };
}

/** Whether the exact class of the optimizer is one of tfjs's own. */
export function hasTfjsRule(optimizer: Optimizer): boolean {
  return RULES.has(optimizer.constructor);
}

/**
 * The rule of the optimizer's class, or of the nearest base class that has one; undefined if none
 * has one.
 */
export function ruleOf(optimizer: Optimizer): FusedRule<Optimizer> | undefined {
  for (let each: unknown = optimizer; each !== null; each = Object.getPrototypeOf(each)) {
    const rule = RULES.get((each as object).constructor);
    if (rule) return rule as unknown as FusedRule<Optimizer>;
  }
  return undefined;
}

/** The backend on which steps may run natively now; undefined if steps may not run natively. */
export function backendForLists(): AccBackend | undefined {
  return env().getBool('DEBUG') ? undefined : activeAcc();
}

/**
 * Returns false if tfjs's own method must take the step. It may then have created state, but has
 * changed nothing else.
 */
function applyFused(
  backend: AccBackend,
  optimizer: Optimizer,
  rule: FusedRule<Optimizer>,
  given: Gradients,
): boolean {
  const gradients = namedGradients(given);
  const variables = registered(gradients);
  if (!variables) return false;
  const lists = rule.slotLists(optimizer);
  const updates = updatesOf(gradients, variables, lists);
  const isTaken = takeStep(backend, {
    updates,
    kinds: lists,
    scalars: rule.scalars?.(optimizer) ?? [],
    update: (chunks) => {
      for (const chunk of chunks) rule.update(optimizer, chunk, backend.epsilon());
    },
    advance: (natives) => rule.advance?.(optimizer, natives),
  });
  if (isTaken) optimizerInternals(optimizer).incrementIterations();
  return isTaken;
}

/**
 * The variables of the gradients. Returns undefined if any variable is not registered with tfjs.
 */
function registered(gradients: readonly NamedGradient[]): Variable[] | undefined {
  const variables = gradients.map(({ name }) => registeredVariable(name));
  return variables.every((variable) => variable !== undefined) ? variables : undefined;
}
