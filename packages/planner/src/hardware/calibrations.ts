/**
 * How much of a device's data sheet software reaches. `products` and `attention` are parts of the peak of
 * products, `memory` of the memory's rate, `link` of NVLink's.
 */
export interface Calibration {
  /** Of large products of matrices. */
  readonly products: number;
  /** FLOPs of a product in 16 bits that reaches half of that; in others, in proportion to the peak. */
  readonly halfFlops: number;
  /** Of the causal half of attention in a fused kernel ("flash attention"). */
  readonly attention: number;
  readonly memory: number;
  readonly link: number;
  readonly network: number;
  /** The part of tensor-parallel collectives that is not hidden under products. */
  readonly tensorExposed: number;
  /** Whether gradients are reduced, weights gathered and stages' messages sent beside computation. */
  readonly overlaps: boolean;
  /** Bytes of the loss for each token and entry of the vocabulary, forward and backward. */
  readonly lossBytes: number;
  /** Where the figures are from. */
  readonly origin: string;
}

/** NCCL reaches some 0.8 of a network card's rate, messages between two hosts too. */
const NETWORK = 0.8;

const IN_SIGHT = ' (chosen with the whole table in sight)';

/**
 * Constants by generation of device and software, chosen by hand against published tables. `origin` names
 * the rows that were aimed at; DESIGN.md says where other rows were in sight. VALIDATION.md has the errors.
 */
export const CALIBRATIONS = {
  /** cuBLAS and NCCL of 2021, no overlap. */
  megatron2021: {
    ...{ products: 0.73, halfFlops: 8e9, attention: 0.3, memory: 0.7, link: 0.9, network: NETWORK },
    ...{ tensorExposed: 1, overlaps: false, lossBytes: 16 },
    origin: 'rows 1.7 B, 39.1 B and 1008 B of Table 1 of the Megatron-LM paper of SC 2021',
  },
  /** PyTorch 2 on A100, with flash attention. */
  a100Flash: {
    ...{ products: 0.79, halfFlops: 8e9, attention: 0.34, memory: 0.8, link: 0.9, network: NETWORK },
    ...{ tensorExposed: 0.7, overlaps: true, lossBytes: 40 },
    origin:
      'the rows of 7b with 2,048 and 65,536 tokens and of 350m with 2,048 in the A100 table of llm-foundry' +
      IN_SIGHT,
  },
  h100: {
    ...{ products: 0.66, halfFlops: 30e9, attention: 0.19, memory: 0.8, link: 0.7, network: NETWORK },
    ...{ tensorExposed: 0.7, overlaps: true, lossBytes: 40 },
    origin: `rows 1.7 B, 16 B and 177 B of the H100 table of Megatron-LM${IN_SIGHT}`,
  },
  h1008Bit: {
    ...{ products: 0.55, halfFlops: 30e9, attention: 0.3, memory: 0.8, link: 0.7, network: NETWORK },
    ...{ tensorExposed: 0.7, overlaps: true, lossBytes: 40 },
    origin: `the rows of Llama 8B on 8 H100 of Megatron-Bridge 25.11 and of torchtitan${IN_SIGHT}`,
  },
  b200: {
    ...{ products: 0.57, halfFlops: 30e9, attention: 0.4, memory: 0.8, link: 0.7, network: NETWORK },
    ...{ tensorExposed: 0.7, overlaps: true, lossBytes: 40 },
    origin: `the row B200, 8B of Megatron-Bridge 25.11${IN_SIGHT}`,
  },
} as const satisfies Readonly<Record<string, Calibration>>;
