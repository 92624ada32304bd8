import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as tf from '@tensorflow/tfjs';
import type { Reader } from '../trackers/python/reader.js';
import { venv } from '../trackers/python/venv.js';

export interface Answer {
  readonly logits: number[];
  readonly loss: number;
  readonly gradients: Readonly<Record<string, number[]>>;
  readonly generated: number[][];
}

/** The results of Mixtral's mixture of experts. Tensors of weights have the dims of torch. */
export interface MixtureAnswer {
  readonly y: number[];
  readonly dx: number[];
  readonly weights: Readonly<Record<string, tf.TensorLike>>;
  readonly gradients: Readonly<Record<string, tf.TensorLike>>;
}

/** `transformers` and `peft`, which make and read folders and answer with what their models compute. */
export class Reference {
  readonly #reader: Reader;

  private constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** @param packages The environment. */
  static async start(packages: 'transformers' | 'quantized-files' = 'transformers'): Promise<Reference> {
    const { reader } = await venv(packages);
    return new Reference(reader('reference_transformers.py'));
  }

  ask(task: 'make' | 'read' | 'pack' | 'adapt' | 'read_adapter', request: object): Promise<Answer> {
    return this.#reader.ask<Answer>(JSON.stringify({ task, ...request }));
  }

  mixture(request: object): Promise<MixtureAnswer> {
    return this.#reader.ask<MixtureAnswer>(JSON.stringify({ task: 'mixture', ...request }));
  }

  close(): void {
    this.#reader.close();
  }
}

export const newFolder = (): string => mkdtempSync(join(tmpdir(), 'acc-transformer-'));
