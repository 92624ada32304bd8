import * as tf from '@tensorflow/tfjs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadPretrained } from '../index.js';

let folder: string;
let path: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acc-gguf-'));
  path = join(folder, 'model.gguf');
  await tf.setBackend('cpu');
});
afterAll(() => rm(folder, { recursive: true }));

const failure = (code: string, message: RegExp): Error =>
  expect.objectContaining({ code, message: expect.stringMatching(message) as string }) as Error;

type Count = number | bigint;
const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const u64 = (value: Count): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
};
const text = (value: string): Buffer => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);

/** A key, the number of the type of its value, and the value. */
const entry = (key: string, type: number, value: Buffer): Buffer =>
  Buffer.concat([text(key), u32(type), value]);
const count = (key: string, value: number): Buffer => entry(key, 4, u32(value));
const array = (key: string, type: number, length: Count): Buffer =>
  entry(key, 9, Buffer.concat([u32(type), u64(length)]));

interface TestTensor {
  readonly name: string;
  readonly dims: readonly Count[];
  readonly type: number;
  readonly offset: Count;
}
const tensor = (fields: Partial<TestTensor> = {}): TestTensor => ({
  ...{ name: 'x', dims: [32, 2], type: 0, offset: 0 },
  ...fields,
});

interface TestFile {
  readonly magic?: string;
  readonly version?: number;
  readonly entries?: readonly Buffer[];
  readonly tensors?: readonly TestTensor[];
  readonly counts?: readonly [tensors: Count, entries: Count];
  readonly dataBytes?: number;
}

function fileOf({
  magic = 'GGUF',
  version = 3,
  entries = [],
  tensors = [],
  dataBytes = 1024,
  counts,
}: TestFile) {
  const [tensorCount, entryCount] = counts ?? [tensors.length, entries.length];
  const described = tensors.map(({ name, dims, type, offset }) =>
    Buffer.concat([text(name), u32(dims.length), ...dims.map(u64), u32(type), u64(offset)]),
  );
  const head = [
    Buffer.from(magic),
    u32(version),
    u64(tensorCount),
    u64(entryCount),
    ...entries,
    ...described,
  ];
  const length = head.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([...head, Buffer.alloc((-length & 31) + dataBytes)]);
}

const named = (name: string, type: number, ...dims: Count[]) => tensor({ name, dims, type });

const LLAMA: Readonly<Record<string, Buffer>> = Object.fromEntries(
  [
    entry('general.architecture', 8, text('llama')),
    count('llama.context_length', 8),
    count('llama.embedding_length', 32),
    count('llama.block_count', 1),
    count('llama.feed_forward_length', 32),
    count('llama.attention.head_count', 4),
    entry('llama.attention.layer_norm_rms_epsilon', 6, u32(0x3727c5ac)),
  ].map((each) => [each.subarray(8, 8 + Number(each.readBigUInt64LE())).toString(), each]),
);

const DAMAGED: Readonly<Record<string, [TestFile, RegExp, code?: string]>> = {
  'another format': [{ magic: 'GGML' }, /does not begin with 'GGUF'/],
  'version 1': [{ version: 1 }, /version is 1; expected one of 2, 3/],
  'a later version': [{ version: 99 }, /version is 99/],
  'big-endian numbers': [{ version: 0x03000000 }, /big-endian/],
  'a huge number of tensors': [{ counts: [2 ** 40, 0] }, /the number of its tensors is 1099511627776, above/],
  'more tensors than it has': [{ counts: [1000, 0] }, /it ends before byte|has 0 bytes/],
  'a number of tensors beyond 2⁵³': [
    { counts: [2n ** 63n, 0] },
    /the number of its tensors is 9223372036854775808/,
  ],
  'a huge number of metadata': [{ counts: [0, 2 ** 50] }, /the number of its metadata is 1125899906842624/],
  'more metadata than it has': [{ counts: [0, 1000] }, /key 0 of its metadata has 0 bytes/],
  'a text of 2⁶³ bytes': [
    { entries: [Buffer.concat([text('key'), u32(8), u64(2n ** 63n)])] },
    /the length of 'key' is 9223372036854775808/,
  ],
  'a text of 2⁵² bytes': [
    { entries: [Buffer.concat([text('key'), u32(8), u64(2 ** 52)])], dataBytes: 0 },
    /it ends before byte/,
  ],
  'a huge list of numbers': [{ entries: [array('list', 0, 2 ** 50)] }, /it ends before byte/],
  'a list of more bytes than can be counted': [{ entries: [array('list', 12, 2 ** 52)] }, /too large/],
  'a list of huge texts': [
    { entries: [array('list', 8, 3), u64(2 ** 48)], counts: [1, 1] },
    /it ends before byte/,
  ],
  'a list of lists': [{ entries: [array('list', 9, 1)] }, /'list' has items of the unknown type 9/],
  'an unknown type of metadata': [{ entries: [entry('key', 77, u32(0))] }, /'key' has the unknown type 77/],
  'metadata twice': [{ entries: [count('key', 1), count('key', 2)] }, /'key' twice/],
  'no possible alignment': [{ entries: [count('general.alignment', 0)] }, /general.alignment is 0/],
  'a tensor without dims': [{ tensors: [tensor({ dims: [] })] }, /'x' has 0 dims/],
  'a tensor of five dims': [{ tensors: [tensor({ dims: [1, 1, 1, 1, 1] })] }, /'x' has 5 dims/],
  'a dim of 0': [{ tensors: [tensor({ dims: [32, 0] })] }, /'x' of shape \[0,32\]/],
  'sizes that overflow': [
    { tensors: [tensor({ dims: [2 ** 32, 2 ** 32] })] },
    /'x' of shape .* no possible size/,
  ],
  'a dim beyond 2⁵³': [
    { tensors: [tensor({ dims: [2n ** 64n - 1n] })] },
    /a dim of 'x' is 18446744073709551615/,
  ],
  'an offset between two elements': [{ tensors: [tensor({ offset: 4 })] }, /'x' begins at byte 4/],
  'an offset behind the end': [
    { tensors: [tensor({ offset: 2 ** 40 })] },
    /ends before the last byte of 'x'/,
  ],
  'a last tensor that is cut off': [
    {
      tensors: [tensor(), named('y', 0, 32, 8)].map((each, i) => ({ ...each, offset: 256 * i })),
      dataBytes: 1000,
    },
    /ends before the last byte of 'y'/,
  ],
  'tensors that overlap': [
    { tensors: [tensor(), tensor({ name: 'y', offset: 224 })] },
    /'x' and 'y' overlap/,
  ],
  'a tensor twice': [{ tensors: [tensor(), tensor()] }, /two tensors 'x'/],
  'a tensor without a name': [{ tensors: [tensor({ name: '' })] }, /the name of tensor 0 has 0 bytes/],
  'a name of the Hub': [
    {
      entries: [...Object.values(LLAMA), count('llama.vocab_size', 4)],
      tensors: [named('layers.0.self_attn.q_proj.weight', 0, 32, 2)],
    },
    /'layers\.0\.self_attn\.q_proj\.weight'; expected the name 'blk\.0\.attn_q\.weight'/,
  ],
  'rows that blocks do not divide': [
    { tensors: [named('x', 12, 32, 8)] },
    /'x' has rows of 32 values, which blocks of Q4_K/,
  ],
  'a type that is not read': [
    { tensors: [named('x', 10, 256)] },
    /'x' is of the GGUF type Q2_K/,
    'ACC_DTYPE_UNSUPPORTED',
  ],
  'a type that is not known': [
    { tensors: [named('x', 255, 256)] },
    /type number 255/,
    'ACC_DTYPE_UNSUPPORTED',
  ],
};

it.each(Object.entries(DAMAGED))(
  'a file with %s is refused',
  async (_, [file, message, code = 'ACC_GGUF_INVALID']) => {
    await writeFile(path, fileOf(file));
    const before = tf.memory().numTensors;
    await expect(loadPretrained(path)).rejects.toThrow(failure(code, message));
    await expect(loadPretrained(path)).rejects.toThrow(path);
    expect(tf.memory().numTensors).toBe(before);
  },
);

it('each beginning of a file is refused', async () => {
  const whole = await readFile(new URL('../../fixtures/llama.gguf', import.meta.url));
  for (let length = 0; length < whole.length; length += length < 1000 ? 53 : 1997) {
    await writeFile(path, whole.subarray(0, length));
    await expect(loadPretrained(path)).rejects.toMatchObject({ code: 'ACC_GGUF_INVALID' });
  }
});

const llamaWith = (changed: Readonly<Record<string, Buffer | undefined>>): TestFile => ({
  entries: Object.values({ ...LLAMA, ...changed }).flatMap((each) => each ?? []),
  tensors: [tensor({ name: 'token_embd.weight', dims: [32, 4] })],
});
const changed = (key: string, value: Buffer): Readonly<Record<string, Buffer>> => ({ [key]: value });

const OTHER: Readonly<Record<string, [Readonly<Record<string, Buffer | undefined>>, string, RegExp]>> = {
  'another architecture': [
    changed('general.architecture', entry('general.architecture', 8, text('mamba'))),
    'ACC_MODEL_UNSUPPORTED',
    /"mamba"; expected "llama"/,
  ],
  experts: [changed('e', count('llama.expert_count', 8)), 'ACC_MODEL_UNSUPPORTED', /llama\.expert_count/],
  'layers that differ': [
    changed('llama.attention.head_count', Buffer.concat([array('llama.attention.head_count', 4, 1), u32(4)])),
    'ACC_MODEL_UNSUPPORTED',
    /head_count differs/,
  ],
  'heads that are rotated in part': [
    changed('r', count('llama.rope.dimension_count', 4)),
    'ACC_MODEL_UNSUPPORTED',
    /8 columns of keys, 4 of which are rotated/,
  ],
  'attention to later tokens': [
    changed('c', entry('llama.attention.causal', 7, Buffer.from([0]))),
    'ACC_MODEL_UNSUPPORTED',
    /llama\.attention\.causal = false/,
  ],
  'a list for an architecture': [
    changed('general.architecture', array('general.architecture', 8, 0)),
    'ACC_MODEL_UNSUPPORTED',
    /architecture \[\]/,
  ],
  'other files': [changed('f', count('split.count', 3)), 'ACC_MODEL_UNSUPPORTED', /one of 3 files/],
  'other positions': [
    changed('s', entry('llama.rope.scaling.type', 8, text('yarn'))),
    'ACC_MODEL_UNSUPPORTED',
    /scaled by "yarn"/,
  ],
  'no number of blocks': [
    { 'llama.block_count': undefined },
    'ACC_MODEL_CONFIG_INVALID',
    /lacks llama\.block_count/,
  ],
  'a text for a number': [
    changed('llama.block_count', entry('llama.block_count', 8, text('1'))),
    'ACC_MODEL_CONFIG_INVALID',
    /llama\.block_count is "1"/,
  ],
  'no heads': [
    changed('llama.attention.head_count', count('llama.attention.head_count', 0)),
    'ACC_INVALID_OPTION',
    /num_attention_heads/,
  ],
  'a billion blocks': [
    changed('llama.block_count', count('llama.block_count', 1e9)),
    'ACC_WEIGHTS_MISMATCH',
    /1000000000 layers/,
  ],
  'too few tensors': [{}, 'ACC_WEIGHTS_MISMATCH', /model\.layers\.0\.self_attn\.q_proj\.weight/],
};

it.each(Object.entries(OTHER))('a model with %s is refused', async (_, [fields, code, message]) => {
  await writeFile(path, fileOf(llamaWith(fields)));
  const before = tf.memory().numTensors;
  await expect(loadPretrained(path)).rejects.toThrow(failure(code, message));
  await expect(loadPretrained(path)).rejects.toThrow(path);
  expect(tf.memory().numTensors).toBe(before);
});
