// A module as units that can change on their own: its functions, and its statements at top level.
import { createHash } from 'node:crypto';
import ts from 'typescript';

/**
 * A function with a body, or a class, whose fields V8 counts as a function. Functions inside it are
 * units of their own.
 */
export interface FunctionUnit {
  /** The names of the declarations around it and its own: `Unit.gather>(given to map)`. */
  readonly name: string;
  /** Of its tokens without comments, types and inner functions. */
  readonly hash: string;
  /** From its first token to its body: where V8 says that it starts. */
  readonly start: number;
  readonly bodyStart: number;
  readonly end: number;
  /** Identifiers in its own tokens. */
  readonly mentions: ReadonlySet<string>;
}

/** A statement at top level, without the functions in it. */
export interface StatementUnit {
  readonly hash: string;
  /** The names that it declares, imports or exports in this module. */
  readonly names: readonly string[];
  readonly mentions: ReadonlySet<string>;
  /** code: a function or a class, which is also among the functions. */
  readonly kind: 'import' | 'export' | 'code' | 'declaration' | 'effect';
  readonly isExported: boolean;
  /** The module of an import or a re-export. */
  readonly from?: string;
}

export interface ModuleUnits {
  readonly functions: readonly FunctionUnit[];
  readonly statements: readonly StatementUnit[];
}

/** A key that tells one version of a function from another, wherever it stands in its module. */
export const keyOf = ({ name, hash }: Pick<FunctionUnit, 'name' | 'hash'>): string => `${name} ${hash}`;

export function unitsOf(path: string, text: string): ModuleUnits {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const functions: FunctionUnit[] = [];
  const visit = (node: ts.Node, names: readonly string[]): void => {
    const own = nameIn(node);
    const inner = own === undefined ? names : [...names, own];
    if (isFunctionWithBody(node)) functions.push(functionUnit(node, inner, node.body, file));
    else if (ts.isClassLike(node)) functions.push(functionUnit(node, inner, openingBrace(node, file), file));
    ts.forEachChild(node, (child) => visit(child, inner));
  };
  visit(file, []);
  return { functions, statements: file.statements.flatMap((statement) => statementUnits(statement, file)) };
}

export function isFunctionWithBody(node: ts.Node): node is ts.FunctionLikeDeclaration & { body: ts.Node } {
  return ts.isFunctionLike(node) && 'body' in node && node.body !== undefined;
}

/** The name that a node adds to those of the functions in it. */
function nameIn(node: ts.Node): string | undefined {
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  if (ts.isGetAccessor(node)) return `get ${node.name.getText()}`;
  if (ts.isSetAccessor(node)) return `set ${node.name.getText()}`;
  const isNamed =
    ts.isFunctionDeclaration(node) ||
    ts.isMethodDeclaration(node) ||
    ts.isClassLike(node) ||
    ts.isPropertyAssignment(node) ||
    ts.isPropertyDeclaration(node) ||
    (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name));
  if (isNamed) return node.name?.getText() ?? 'default';
  if (!isFunctionWithBody(node)) return undefined;
  const { parent } = node;
  if (ts.isCallExpression(parent)) return `(given to ${lastName(parent.expression)})`;
  const isNamedByParent =
    ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent) || ts.isPropertyDeclaration(parent);
  return isNamedByParent ? undefined : '()';
}

function lastName(callee: ts.Expression): string {
  if (ts.isPropertyAccessExpression(callee)) return callee.name.text;
  return ts.isIdentifier(callee) ? callee.text : '()';
}

const openingBrace = (node: ts.ClassLikeDeclaration, file: ts.SourceFile): ts.Node =>
  node.getChildren(file).find(({ kind }) => kind === ts.SyntaxKind.OpenBraceToken)!;

function functionUnit(
  node: ts.Node,
  names: readonly string[],
  body: ts.Node,
  file: ts.SourceFile,
): FunctionUnit {
  const { hash, mentions } = tokensOf(node, file);
  return {
    name: names.join('.').replaceAll(/\s+/g, ' '),
    hash,
    start: node.getStart(file),
    bodyStart: body.getStart(file),
    end: node.getEnd(),
    mentions,
  };
}

/** The hash of a node's tokens and the identifiers among them, without types and inner functions. */
function tokensOf(root: ts.Node, file: ts.SourceFile): { hash: string; mentions: Set<string> } {
  const hash = createHash('sha1');
  const mentions = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (isErased(node)) return;
    if (node !== root && (isFunctionWithBody(node) || ts.isClassLike(node))) {
      // A method that is added to a class changes no other.
      if (!ts.isClassElement(node)) hash.update(`ƒ${nameIn(node) ?? ''}\0`);
      return;
    }
    const children = node.getChildren(file).filter((child) => !ts.isJSDoc(child));
    if (children.length > 0) return children.forEach(visit);
    const token = node.getText(file);
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) mentions.add(token);
    hash.update(`${token}\0`);
  };
  visit(root);
  return { hash: hash.digest('hex').slice(0, 8), mentions };
}

/** Syntax that exists only for the compiler. */
function isErased(node: ts.Node): boolean {
  return (
    (ts.isTypeNode(node) && !ts.isExpressionWithTypeArguments(node)) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isTypeParameterDeclaration(node) ||
    (ts.isImportSpecifier(node) && node.isTypeOnly) ||
    (ts.isExportSpecifier(node) && node.isTypeOnly) ||
    (ts.isFunctionLike(node) && 'body' in node && node.body === undefined && !ts.isAccessor(node)) ||
    ERASED_WORDS.has(node.kind) ||
    (OF_TYPES.has(node.kind) && isDeclaration(node.parent)) ||
    (node.kind === ts.SyntaxKind.ExclamationToken && ts.isNonNullExpression(node.parent))
  );
}

const ERASED_WORDS: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.ReadonlyKeyword,
  ts.SyntaxKind.OverrideKeyword,
  ts.SyntaxKind.DeclareKeyword,
  ts.SyntaxKind.AbstractKeyword,
  ts.SyntaxKind.PublicKeyword,
  ts.SyntaxKind.PrivateKeyword,
  ts.SyntaxKind.ProtectedKeyword,
  ts.SyntaxKind.AsKeyword,
  ts.SyntaxKind.SatisfiesKeyword,
]);

/** `:` before a type, `?` and `!` behind a name. */
const OF_TYPES: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.ColonToken,
  ts.SyntaxKind.QuestionToken,
  ts.SyntaxKind.ExclamationToken,
]);

const isDeclaration = (node: ts.Node): boolean =>
  ts.isParameter(node) ||
  ts.isVariableDeclaration(node) ||
  ts.isPropertyDeclaration(node) ||
  ts.isFunctionLike(node);

function statementUnits(statement: ts.Statement, file: ts.SourceFile): StatementUnit[] {
  if (isErased(statement)) return [];
  if (ts.isImportDeclaration(statement)) return importUnits(statement, file);
  if (ts.isExportDeclaration(statement)) return exportUnits(statement, file);
  const { hash, mentions } = tokensOf(statement, file);
  const isExported =
    ts.isExportAssignment(statement) ||
    (ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true);
  if (ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) {
    return [{ hash, names: [statement.name?.text ?? 'default'], mentions, kind: 'code', isExported }];
  }
  const names = declaredNames(statement);
  return [{ hash, names, mentions, kind: names.length > 0 ? 'declaration' : 'effect', isExported }];
}

/** One unit a binding: an import that is added changes no other. */
function importUnits(statement: ts.ImportDeclaration, file: ts.SourceFile): StatementUnit[] {
  const { importClause: clause } = statement;
  const from = moduleOf(statement.moduleSpecifier);
  if (!clause) {
    return [{ hash: from, names: [], mentions: new Set(), kind: 'effect', isExported: false, from }];
  }
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return [];
  const unit = (local: string, imported: string): StatementUnit => ({
    hash: `${from}#${imported}`,
    names: [local],
    mentions: new Set([imported]),
    kind: 'import',
    isExported: false,
    from,
  });
  const units = clause.name ? [unit(clause.name.text, 'default')] : [];
  const bindings = clause.namedBindings;
  if (!bindings) return units;
  if (ts.isNamespaceImport(bindings)) return [...units, unit(bindings.name.text, '*')];
  const named = bindings.elements.filter(({ isTypeOnly }) => !isTypeOnly);
  return [
    ...units,
    ...named.map(({ name, propertyName }) => unit(name.text, (propertyName ?? name).getText(file))),
  ];
}

function exportUnits(statement: ts.ExportDeclaration, file: ts.SourceFile): StatementUnit[] {
  if (statement.isTypeOnly) return [];
  const from = statement.moduleSpecifier && moduleOf(statement.moduleSpecifier);
  const unit = (exported: string, local: string): StatementUnit => ({
    hash: `${from ?? ''}#${local}`,
    names: [exported],
    mentions: new Set([local]),
    kind: 'export',
    isExported: true,
    ...(from === undefined ? {} : { from }),
  });
  const clause = statement.exportClause;
  if (!clause) return [unit('*', '*')];
  if (ts.isNamespaceExport(clause)) return [unit(clause.name.getText(file), '*')];
  const named = clause.elements.filter(({ isTypeOnly }) => !isTypeOnly);
  return named.map(({ name, propertyName }) =>
    unit(name.getText(file), (propertyName ?? name).getText(file)),
  );
}

const moduleOf = (specifier: ts.Expression): string => (ts.isStringLiteral(specifier) ? specifier.text : '');

function declaredNames(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.flatMap(({ name }) => namesOfBinding(name));
  }
  if (ts.isEnumDeclaration(statement) || ts.isModuleDeclaration(statement)) return [statement.name.getText()];
  return ts.isExportAssignment(statement) ? ['default'] : [];
}

function namesOfBinding(name: ts.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((element) =>
    ts.isOmittedExpression(element) ? [] : namesOfBinding(element.name),
  );
}
