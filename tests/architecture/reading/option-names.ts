import ts from 'typescript';
import { ACCELERATOR_FIELDS } from '../../../packages/config/src/accelerator-fields.js';
import { variableOf } from '../../../packages/config/src/variables.js';
import { withSubcommands } from '../../../packages/cli/src/examples.js';
import { createProgram } from '../../../packages/cli/src/program.js';
import { fullName } from '../../../packages/cli/src/usage.js';
import { VARIABLES } from '../../../site/scripts/error-codes.mjs';
import { isForTests, packages, readText, sourcesOf } from './repository.js';

/** Types of the program's own objects, whose members are no options. */
const OBJECTS = ['CollectiveOf', 'CommHook', 'Plugin', 'Storage', 'Strategy', 'Tracker'];

/** The paths of the options of a type, and of the records in it. `prefix` is its path, with a dot at the end. */
export function namesIn(type: ts.Type, checker: ts.TypeChecker, prefix = ''): string[] {
  const names = checker.getPropertiesOfType(type).flatMap((property) => {
    const name = prefix + property.name;
    const inner = checker.getTypeOfSymbol(property);
    const records = (inner.isUnion() ? inner.types : [inner]).filter(isRecordOfOptions);
    return [name, ...records.flatMap((record) => namesIn(record, checker, `${name}.`))];
  });
  return [...new Set(names)];
}

function isRecordOfOptions(type: ts.Type): boolean {
  if (type.isIntersection()) return type.types.every(isRecordOfOptions);
  const isObject = (type.flags & ts.TypeFlags.Object) !== 0 && type.getCallSignatures().length === 0;
  return isObject && !OBJECTS.includes(type.symbol?.name);
}

/** The flags of each command, by its full name. */
export function flagsOfCommands(): [command: string, flags: string[]][] {
  return withSubcommands(createProgram(() => {})).map((command) => [
    fullName(command),
    command.options.map(({ flags }) => flags),
  ]);
}

/** The variables of options, and the others that packages read. Those of tests are left out. */
export function variableNames(): string[] {
  const read = packages
    .flatMap(sourcesOf)
    .filter((path) => !isForTests(path))
    .flatMap((path) => [...readText(path).matchAll(/(?:\benv|environment\(\))(?:\??\.|\??\.?\[')(ACC_\w+)/g)])
    .map(([, name]) => name!);
  const names = [...read, ...VARIABLES, ...ACCELERATOR_FIELDS.map(variableOf)];
  return [...new Set(names)].filter((name) => !name.startsWith('ACC_TEST_'));
}
