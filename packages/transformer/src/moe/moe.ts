import {
  add,
  div,
  gather,
  keep,
  mul,
  reshape,
  softmax,
  sum,
  tensor1d,
  tidy,
  topk,
  type Tensor,
  type Tensor2D,
} from '@tensorflow/tfjs-core';
import { initializers, type layers, type Shape } from '@tensorflow/tfjs-layers';
import { AccError, noteExpertLoad, valuesOf } from '@acc/contract';
import { currentPass } from '@acc/tape';
import { Composite, partsOf } from '../layers/composite.js';
import { FeedForward, SwiGlu } from '../layers/feed-forward.js';
import { parseArgs } from '../layers/layer-args.js';
import { first, firstShape, type Kwargs } from '../layers/shapes.js';
import { onRanksOfExperts } from './dispatch.js';
import { Experts } from './experts.js';
import { MOE, requireChoices, type MoeArgs, type MoeSettings } from './options.js';
import { routerLosses } from './router-losses.js';
import { capacityOf, Routing } from './routing.js';
import { collectRows, spreadRows, type RowMap } from './row-map.js';

type Layer = InstanceType<typeof layers.Layer>;

/** See {@link moe}. */
export class Moe extends Composite<MoeSettings> {
  static className = 'Moe';
  #router!: Layer;
  #experts!: Experts;
  #shared: Layer | undefined;
  #last: Routing | undefined;
  /** `[2]`, of the last call in a gradient computation. */
  #losses: Tensor | undefined;

  constructor(args: MoeArgs) {
    super(args, parseArgs('moe', MOE, args));
    const { mlp, activation } = this.settings;
    requireChoices(this.settings);
    if (mlp === 'swiGlu' && activation !== undefined) throw ownActivation();
  }

  /**
   * The assignments of the last call that went to each expert, of this rank's tokens, before any were
   * dropped. 0 for each expert if this rank has not called the layer, as in the other stages of a
   * pipeline.
   */
  get tokensPerExpert(): number[] {
    return this.#last ? [...this.#last.assigned] : new Array<number>(this.settings.experts).fill(0);
  }

  /**
   * The assignments of the last call, of this rank's tokens, that their experts had no room for. A
   * token whose assignments are all dropped passes the layer by.
   */
  get droppedTokens(): number {
    return this.#last?.dropped ?? 0;
  }

  /**
   * The terms that the last training call added to the loss of this rank: the load-balancing loss
   * and the router's z loss, times their factors. Undefined before. The getter reads them from the
   * device.
   */
  get routerLosses(): { readonly balance: number; readonly z: number } | undefined {
    if (!this.#losses || this.#losses.isDisposed) return undefined;
    const [balance, z] = this.#losses.dataSync() as unknown as [number, number];
    return { balance, z };
  }

  override build(inputShape: Shape | Shape[]): void {
    const shape = firstShape(inputShape);
    const width = shape.at(-1)!;
    const { experts, sharedExperts, initializerRange, outputInitializerRange, parts } = this.settings;
    const { mlp, innerUnits = 4 * width, useBias = mlp === 'gelu' } = this.settings;
    const activation = this.settings.activation ?? 'gelu_new';
    const ranges = { initializerRange, outputInitializerRange };
    this.#router = this.addProjection('router', experts, initializerRange, false);
    const settings = { experts, mlp, activation, innerUnits, useBias, ...ranges };
    this.#experts = this.add('experts', (name) => new Experts({ name }, settings));
    if (sharedExperts > 0) {
      // Experts that see all tokens are one MLP of their joint width (DeepSeekMoE, Dai et al. 2024).
      const joint = { innerUnits: sharedExperts * innerUnits, useBias, ...ranges };
      this.#shared = this.add('shared', (name) => {
        const args = { name, ...joint, parts: partsOf(parts, 'shared') };
        return mlp === 'swiGlu' ? new SwiGlu(args) : new FeedForward({ ...args, activation });
      });
    }
    this.restore();
    this.buildParts(shape, this.layers);
    super.build(inputShape);
  }

  override call(inputs: Tensor | Tensor[], kwargs: Kwargs): Tensor {
    return tidy(() => {
      const x = first(inputs);
      const rows = reshape(x, [-1, x.shape.at(-1)!]) as Tensor2D;
      const { routing, gates } = this.#route(rows, kwargs);
      const mixed = reshape(this.#mix(rows, routing, gates), x.shape);
      return this.#shared ? add(mixed, this.#shared.call(x, kwargs) as Tensor) : mixed;
    });
  }

  protected override disposeOwnTensors(): void {
    this.#losses?.dispose();
    this.#losses = undefined;
  }

  /** Chooses experts. `gates` are the weights of all assignments, `[topK · tokens]`. */
  #route(rows: Tensor2D, kwargs: Kwargs): { readonly routing: Routing; readonly gates: Tensor } {
    const { experts, topK, capacityFactor, normalizeGates = topK > 1 } = this.settings;
    const tokens = rows.shape[0];
    const logits = this.#router.call(this.#jittered(rows, kwargs), kwargs) as Tensor2D;
    const probabilities = softmax(logits, -1);
    // Which rows go where decides shapes, so it must be known here.
    const choices = valuesOf(tidy(() => topk(probabilities, topK).indices));
    const capacity =
      capacityFactor === undefined ? undefined : capacityOf(tokens, topK, experts, capacityFactor);
    const routing = new Routing(choices, tokens, { experts, capacity });
    if (!currentPass()?.isTrial) {
      this.#last = routing;
      noteExpertLoad(routing.assigned);
    }
    const places = Int32Array.from({ length: topK * tokens }, (_, assignment) => {
      const token = assignment % tokens;
      return token * experts + choices[token * topK + Math.floor(assignment / tokens)]!;
    });
    const chosen = reshape(gather(reshape(probabilities, [-1]), tensor1d(places, 'int32')), [topK, tokens]);
    const gates = normalizeGates ? div(chosen, sum(chosen, 0, true)) : chosen;
    return { routing, gates: reshape(this.#withLosses(gates, { logits, probabilities, routing }), [-1]) };
  }

  /** Switch Transformers, section 2.4. */
  #jittered(rows: Tensor2D, kwargs: Kwargs): Tensor {
    const { jitter } = this.settings;
    if (jitter === 0 || kwargs?.['training'] !== true) return rows;
    const noise = initializers.randomUniform({ minval: 1 - jitter, maxval: 1 + jitter });
    return mul(rows, noise.apply(rows.shape));
  }

  #withLosses(gates: Tensor, { logits, probabilities, routing }: Routed): Tensor {
    const { balanceLoss, zLoss } = this.settings;
    const pass = currentPass();
    if (!pass || (balanceLoss === 0 && zLoss === 0)) return gates;
    const losses = routerLosses(logits, probabilities, routing.assigned, { balanceLoss, zLoss });
    if (!pass.isTrial) {
      this.#losses?.dispose();
      this.#losses = keep(losses.clone());
    }
    return pass.addLoss(gates, sum(losses));
  }

  /** The outputs of the experts, weighted and added up for each token: `[tokens, width]`. */
  #mix(rows: Tensor2D, routing: Routing, gates: Tensor): Tensor {
    const { tokens, topK, assignmentOf, rowOf, counts } = routing;
    const back = Array.from({ length: topK }, (_, k) => rowOf.subarray(k * tokens, (k + 1) * tokens));
    const ofTokens: RowMap = { from: assignmentOf.map((assignment) => assignment % tokens), back };
    const sorted = spreadRows(rows, ofTokens) as Tensor2D;
    const experts = this.#experts;
    const { held } = experts;
    const run = (given: Tensor2D, each: readonly number[]) => experts.run(given, each);
    const outputs = held ? onRanksOfExperts(sorted, counts, held, run) : run(sorted, counts);
    const weights = spreadRows(reshape(gates, [-1, 1]), { from: assignmentOf, back: [rowOf] });
    return collectRows(mul(outputs, weights), ofTokens);
  }
}

/** The results of the router. */
interface Routed {
  /** `[tokens, experts]`. */
  readonly logits: Tensor;
  readonly probabilities: Tensor;
  readonly routing: Routing;
}

function ownActivation(): AccError {
  return new AccError('ACC_INVALID_OPTION', "moe: activation has no effect with mlp: 'swiGlu'.", {
    help: "Leave it out, or use mlp: 'gelu'.",
  });
}
