import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Reader } from '../trackers/python/reader.js';
import { venv } from '../trackers/python/venv.js';

export interface Answer {
  readonly logits: number[];
  readonly loss: number;
  readonly gradients: Readonly<Record<string, number[]>>;
  readonly generated: number[][];
}

/** `transformers` and `peft`, which make and read folders and answer with what their models compute. */
export class Reference {
  readonly #reader: Reader;

  private constructor(reader: Reader) {
    this.#reader = reader;
  }

  static async start(): Promise<Reference> {
    const { reader } = await venv('transformers');
    return new Reference(reader('reference_transformers.py'));
  }

  ask(task: 'make' | 'read' | 'adapt' | 'read_adapter', request: object): Promise<Answer> {
    return this.#reader.ask<Answer>(JSON.stringify({ task, ...request }));
  }

  close(): void {
    this.#reader.close();
  }
}

export const newFolder = (): string => mkdtempSync(join(tmpdir(), 'acc-transformer-'));

export const GPT2 = {
  vocab_size: 61,
  n_positions: 32,
  n_embd: 24,
  n_layer: 2,
  n_head: 3,
  resid_pdrop: 0,
  embd_pdrop: 0,
  attn_pdrop: 0,
} as const;

/** Four heads of queries share two of keys and values. */
export const LLAMA = {
  vocab_size: 67,
  hidden_size: 32,
  intermediate_size: 44,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 64,
  rms_norm_eps: 1e-5,
} as const;

/** Tokens `[rows, length]` below `vocabulary`, the same in each run. */
export function tokensOf(rows: number, length: number, vocabulary: number): number[][] {
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length }, (_, i) => (7 * row + 13 * i + 5 * i * i + 3) % vocabulary),
  );
}
