import {
  hashOf,
  hasSignature,
  signatureOf,
  type CallAttrs,
  type CallInputs,
  type Layouts,
  type Signature,
} from './signature.js';

/** The most plans that are kept for one kernel. A program with more signatures decides anew. */
const MOST_PLANS = 512;

/**
 * The decisions for the calls of one kernel. A step makes the same calls as the step before it, so
 * a decision is looked up by the call's signature.
 */
export class PlanCache<Decision> {
  readonly #byHash = new Map<number, { readonly signature: Signature; readonly decision: Decision }[]>();
  #count = 0;

  constructor(
    private readonly shards: Layouts,
    private readonly decide: (inputs: CallInputs, attrs: CallAttrs) => Decision,
  ) {}

  of(inputs: CallInputs, attrs: CallAttrs): Decision {
    const hash = hashOf(inputs, attrs);
    const known = this.#byHash.get(hash);
    if (known)
      for (const { signature, decision } of known)
        if (hasSignature(signature, inputs, attrs, this.shards)) return decision;
    const signature = signatureOf(inputs, attrs, this.shards);
    const decision = this.decide(inputs, attrs);
    if (signature) this.#keep(hash, { signature, decision });
    return decision;
  }

  #keep(hash: number, entry: { readonly signature: Signature; readonly decision: Decision }): void {
    if (this.#count === MOST_PLANS) {
      this.#byHash.clear();
      this.#count = 0;
    }
    this.#count++;
    const known = this.#byHash.get(hash);
    if (known) known.push(entry);
    else this.#byHash.set(hash, [entry]);
  }
}
