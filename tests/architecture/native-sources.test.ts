import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import { filesUnder, readText } from './reading/repository.js';

const cpp = (folder: string) => filesUnder(`packages/native/cpp/${folder}`, ['.cpp', '.h']);

/** The files with a match, each with its first match. */
function matches(files: readonly string[], pattern: RegExp): string[] {
  return files.flatMap((path) => {
    const found = pattern.exec(readText(path));
    return found ? [`${path}: ${found[0]}`] : [];
  });
}

describe('C++', () => {
  it('engine/ does not use Node-API', () => {
    const engine = cpp('engine');
    expect(
      matches(engine, /#include\s+["<](napi|node_api|node|v8|uv|js_native_api|binding\/)[^">]*[">]|\bNapi::/),
    ).toEqual([]);
    expect(engine.length).toBeGreaterThan(5);
  });

  it('engine/ is in folders by subject', () => {
    const flat = cpp('engine').filter((path) => !path.replace(/^.*\/engine\//, '').includes('/'));
    expect(flat.map((path) => basename(path))).toEqual(['error.cpp', 'error.h']);
  });

  it('includes name the folder', () => {
    const own = [...cpp('engine'), ...cpp('binding'), ...cpp('loader')];
    expect(matches(own, /#include\s+"(?!(engine|binding|third_party|mpi|portable|gloo)\/)[^"]*"/)).toEqual(
      [],
    );
  });

  it('binding/ computes nothing', () => {
    const binding = cpp('binding');
    const operators =
      /#include\s+["<](ATen\/(ATen|Functions|Operators|NativeFunctions|ops\/.*)\.h|torch\/torch\.h|torch\/csrc\/.*)[">]/;
    expect(matches(binding, operators)).toEqual([]);
    expect(
      matches(
        binding,
        /\bat::(?!Tensor\b|ScalarType\b|Device\b|get_num_threads\b|set_num_threads\b|manual_seed\b|show_config\b)\w+/,
      ),
    ).toEqual([]);
    expect(binding.length).toBeGreaterThan(5);
  });

  it('nothing is deleted by hand', () => {
    const all = [...cpp('engine'), ...cpp('binding'), ...cpp('loader')];
    expect(matches(all, /^\s*delete\s.*$/m)).toEqual([]);
  });
});
