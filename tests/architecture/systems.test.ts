// What is written for one system is in named files. The rest runs on every system that the site names.
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { filesUnder, isForTests, packages, readText, sourcesOf } from './reading/repository.js';
import { nodesOf, parse } from './reading/syntax.js';
import { KNOWS_A_SYSTEM, LINUX_SOURCES, PARTLY_LINUX } from './rules/systems.js';

const SYSTEM = /^(?:linux|darwin|win32)(?:-|$)/;
/** A path as a text of its own, also within a script; messages name paths between other words. */
const PATH = /(?:^|['"`])\/(?:(?:proc|sys)(?:['"`/]|$)|dev\/shm|bin\/sh)/;
const PROGRAM = /^(?:taskset|xdg-open|lscpu)$/;
/** Text that every file with one of these has. Few others have it, so few are parsed. */
const ANY =
  /process\.platform|['"`](?:linux|darwin|win32|taskset|xdg-open|lscpu)|['"`]\/(?:proc|sys|dev\/shm|bin\/sh)/;

function knowsASystem(path: string): boolean {
  if (!ANY.test(readText(path))) return false;
  return nodesOf(parse(path)).some((node) => {
    if (ts.isPropertyAccessExpression(node)) return isPlatformOfProcess(node);
    if (!ts.isStringLiteralLike(node) && !ts.isTemplateHead(node) && !ts.isTemplateMiddleOrTemplateTail(node))
      return false;
    return SYSTEM.test(node.text) || PATH.test(node.text) || PROGRAM.test(node.text);
  });
}

function isPlatformOfProcess({ expression, name }: ts.PropertyAccessExpression): boolean {
  return name.text === 'platform' && ts.isIdentifier(expression) && expression.text === 'process';
}

it('only named files know a system', () => {
  const files = packages.flatMap(sourcesOf).filter((path) => !isForTests(path));
  expect(files.filter(knowsASystem).sort()).toEqual(KNOWS_A_SYSTEM.map(({ where }) => where).sort());
  expect(files.length).toBeGreaterThan(100);
});

it('no path is taken from a URL of a file as text, which Windows writes in another way', () => {
  const ofFile = /new URL\([^()]*(?:import\.meta\.url|__filename)\)\.pathname/;
  const files = [...packages.flatMap(sourcesOf), ...filesUnder('scripts', ['.mjs', '.ts'])];
  expect(files.filter((path) => ofFile.test(readText(path)))).toEqual([]);
});

const CPP = 'packages/native/cpp/';
const sources = ['engine', 'binding', 'loader', 'portable']
  .flatMap((folder) => filesUnder(`${CPP}${folder}`, ['.cpp', '.h', '.inc']))
  .concat(filesUnder(CPP.slice(0, -1), ['.cpp']).filter((path) => /\/unit_\w+\.cpp$/.test(path)))
  .map((path) => path.replace(CPP, ''));

/** The lines of a C++ file, in two parts: those that only Linux compiles, and the others. */
function partsOf(path: string): { linux: string; others: string } {
  const parts: { linux: string[]; others: string[] } = { linux: [], others: [] };
  /** For each open condition: whether its current branch is one of Linux alone. */
  const open: boolean[] = [];
  const text = readText(`${CPP}${path}`);
  // Its branches would be taken for each other.
  expect(text, path).not.toMatch(/ifndef __linux__|!\s*defined\(__linux__/);
  for (const line of text.split('\n')) {
    const isLinux = /\bdefined\(__linux__\)|^#ifdef __linux__/.test(line);
    if (/^\s*#\s*if/.test(line)) open.push(isLinux);
    else if (/^\s*#\s*(?:else|elif)/.test(line)) open.splice(-1, 1, /elif/.test(line) && isLinux);
    else if (/^\s*#\s*endif/.test(line)) open.pop();
    else (open.includes(true) ? parts.linux : parts.others).push(line.replace(/\/\/.*/, ''));
  }
  expect(open, path).toEqual([]);
  return { linux: parts.linux.join('\n'), others: parts.others.join('\n') };
}

/** Headers and calls that only Linux has. */
const LINUX_ONLY =
  /#include <(?:linux\/\S+|sys\/(?:syscall|epoll|eventfd|inotify|prctl|sendfile|statfs|sysinfo|signalfd|timerfd)\.h|malloc\.h|link\.h)>|\b(?:memfd_create|syscall|sched_getaffinity|sched_setaffinity|cpu_set_t|statx|mremap|prctl|gettid|accept4|pipe2|epoll_\w+|eventfd|copy_file_range|fallocate|posix_fadvise|malloc_trim|mallopt|pthread_(?:get|set)affinity_np)\b|\bMADV_(?:POPULATE_\w+|HUGEPAGE)\b|"\/(?:proc|sys)\/|\bTCP_(?:KEEPIDLE|USER_TIMEOUT|INFO)\b/m;

describe('C++', () => {
  const included = (text: string): string[] =>
    Array.from(text.matchAll(/^#include "(engine\/[^"]*\.cpp)"/gm), ([, path]) => path!);

  it('has what only Linux has in named files, or between conditions', () => {
    const bare = sources.filter((path) => LINUX_ONLY.test(partsOf(path).others));
    // It asks for the flag itself.
    expect(bare.filter((path) => path !== 'engine/memory/huge_pages.h')).toEqual(
      LINUX_SOURCES.filter((path) => LINUX_ONLY.test(readText(`${CPP}${path}`))),
    );
    expect(bare).toContain('engine/groups/shm/ranks.cpp');
  });

  it('includes those files on Linux alone', () => {
    const units = sources.filter((path) => path.startsWith('unit_')).map(partsOf);
    const onLinux = units.flatMap(({ linux }) => included(linux));
    expect([...onLinux].sort()).toEqual([...LINUX_SOURCES].sort());
    const everywhere = units.flatMap(({ others }) => included(others));
    expect(everywhere.filter((path) => LINUX_SOURCES.includes(path))).toEqual([]);
    expect(everywhere.length).toBeGreaterThan(40);
  });

  it('has conditions for Linux in named files', () => {
    const partly = sources.filter((path) => partsOf(path).linux.trim() !== '');
    expect(partly.sort()).toEqual(PARTLY_LINUX.map(({ where }) => where).sort());
  });
});
