/**
 * Decodes the JPEG files of a folder, one after the other: `tsx bench/data/decode.ts job.json`. The
 * result is the time of processors for one image, in ms: the fastest of several rounds.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Transformer } from '@napi-rs/image';
import sharp from 'sharp';

interface Job {
  readonly path: string;
  readonly rounds: number;
  readonly resultPath: string;
}

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const files = (readdirSync(job.path, { recursive: true }) as string[])
  .map((name) => join(job.path, name))
  .filter((path) => statSync(path).isFile())
  .map((path) => readFileSync(path));

async function time(decode: (bytes: Buffer) => unknown): Promise<number> {
  const rounds: number[] = [];
  for (let round = 0; round < job.rounds; round++) {
    const start = process.cpuUsage();
    for (const bytes of files) await decode(bytes);
    const { user, system } = process.cpuUsage(start);
    rounds.push((user + system) / 1000 / files.length);
  }
  return Math.min(...rounds);
}

const cpuMs = {
  sharp: await time((bytes) => sharp(bytes, { ignoreIcc: true }).raw().toBuffer()),
  '@napi-rs/image': await time((bytes) => new Transformer(bytes).rawPixelsSync()),
};
writeFileSync(job.resultPath, JSON.stringify({ cpuMs }));
