import { AccError } from '@acc/contract';

/**
 * The source of a function as an expression, and the names in it that it does not declare: globals,
 * and variables of the program around it, which do not exist in another process.
 */
export interface PortableFunction {
  readonly name: string;
  readonly source: string;
  readonly freeNames: readonly string[];
}

/** Names that the runner declares for every function. */
const DECLARED = ['require', '__name'];

/**
 * Reads a function's source.
 *
 * @throws AccError `ACC_FUNCTION_SOURCE` if the source is not a function on its own: a method, a
 * class, a bound or native function.
 */
export async function portableFunction(fn: (...args: never[]) => unknown): Promise<PortableFunction> {
  const source = Function.prototype.toString.call(fn);
  const { parse } = await import('acorn');
  const { analyze } = await import('eslint-scope');
  let program: ReturnType<typeof parse>;
  try {
    program = parse(`(${source})`, { ecmaVersion: 'latest', ranges: true });
  } catch (cause) {
    throw notPortable(
      fn.name,
      `its source is not a function on its own (${(cause as Error).message})`,
      cause,
    );
  }
  const [statement] = program.body;
  const type = statement?.type === 'ExpressionStatement' ? statement.expression.type : undefined;
  if (type !== 'FunctionExpression' && type !== 'ArrowFunctionExpression') {
    throw notPortable(fn.name, 'it is a class');
  }
  const { globalScope } = analyze(program, { ecmaVersion: 2022 });
  const names = globalScope!.through.map(({ identifier }) => identifier.name);
  const freeNames = [...new Set(names)].filter((name) => !DECLARED.includes(name));
  return { name: fn.name || 'anonymous', source, freeNames };
}

function notPortable(name: string, reason: string, cause?: unknown): AccError {
  return new AccError(
    'ACC_FUNCTION_SOURCE',
    `launch cannot send the function '${name || 'anonymous'}' to other processes: ${reason}.`,
    {
      help: "Pass a function or an arrow function, or name one of a module: launch({ module: './train.js', export: 'train' }, …).",
      cause,
    },
  );
}
