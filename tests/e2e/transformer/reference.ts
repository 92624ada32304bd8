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
