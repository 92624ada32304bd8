import ts from 'typescript';
import { readText } from './repository.js';

const parsed = new Map<string, ts.SourceFile>();

/** The syntax tree of a file, which is given by its path from the root. */
export function parse(path: string): ts.SourceFile {
  let file = parsed.get(path);
  if (!file) {
    file = ts.createSourceFile(path, readText(path), ts.ScriptTarget.Latest, true);
    parsed.set(path, file);
  }
  return file;
}

/** Every node of a tree, depth first. */
export function nodesOf(root: ts.Node): ts.Node[] {
  const nodes: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    nodes.push(node);
    ts.forEachChild(node, visit);
  };
  visit(root);
  return nodes;
}

export interface Import {
  readonly specifier: string;
  /** False for imports that compilation removes. */
  readonly isValue: boolean;
  /** True if nothing is imported by name: `import './register.js'`. */
  readonly isForEffect: boolean;
}

/** The imports and re-exports of a file, also dynamic ones and types. */
export function importsOf(path: string): Import[] {
  const imports: Import[] = [];
  for (const node of nodesOf(parse(path))) {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      const isForEffect = node.importClause === undefined;
      imports.push({
        specifier: node.moduleSpecifier.text,
        isValue: isForEffect || node.importClause.phaseModifier !== ts.SyntaxKind.TypeKeyword,
        isForEffect,
      });
    } else if (
      ts.isExportDeclaration(node) &&
      node.moduleSpecifier &&
      ts.isStringLiteral(node.moduleSpecifier)
    ) {
      imports.push({ specifier: node.moduleSpecifier.text, isValue: !node.isTypeOnly, isForEffect: false });
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [argument] = node.arguments;
      if (argument && ts.isStringLiteral(argument)) {
        imports.push({ specifier: argument.text, isValue: true, isForEffect: false });
      }
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      const { literal } = node.argument;
      if (ts.isStringLiteral(literal)) {
        imports.push({ specifier: literal.text, isValue: false, isForEffect: false });
      }
    }
  }
  return imports;
}

/**
 * The package of a specifier: `@acc/kernels` for `@acc/kernels/register`. Undefined for files and
 * for modules of Node.
 */
export function packageOf(specifier: string): string | undefined {
  if (/^(\.|node:|#)/.test(specifier)) return undefined;
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}
