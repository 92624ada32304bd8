// The mutants of a TypeScript module.
import ts from 'typescript';
import { OPERATORS, type Mutant } from './mutant.js';

/** Functions that make texts for people. A mutant of a text is no defect that a test should notice. */
const MAKES_TEXT = /message|error|describe|explain|help|hint|print|label|format|spell|sentence/i;
/** Calls whose only effect is a text, or a freed resource that the next collection frees as well. */
const ONLY_TELLS =
  /^(console|process\.std(out|err)|stream|log|logger|print|warn|debug)\b|\b(warn|print|unref)$/i;

/** All mutants of a module, in the order of their places. */
export function typescriptMutants(path: string, text: string): Mutant[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const mutants: Mutant[] = [];
  const add = (kind: Mutant['kind'], node: ts.Node, replacement: string): void => {
    mutants.push({ path, kind, start: node.getStart(file), end: node.getEnd(), replacement });
  };
  const visit = (node: ts.Node): void => {
    if (isForPeople(node) || isErased(node)) return;
    if (ts.isBinaryExpression(node)) mutateOperator(node, add);
    if (ts.isPrefixUnaryExpression(node)) mutatePrefix(node, add);
    if (ts.isIfStatement(node) || ts.isConditionalExpression(node)) mutateCondition(node, add);
    if (ts.isExpressionStatement(node)) mutateCall(node, add);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return mutants.sort((a, b) => a.start - b.start || a.end - b.end);
}

type Add = (kind: Mutant['kind'], node: ts.Node, replacement: string) => void;

function mutateOperator(node: ts.BinaryExpression, add: Add): void {
  const found = OPERATORS.get(node.operatorToken.getText());
  if (!found || isTextual(node.left) || isTextual(node.right)) return;
  add(found[0], node.operatorToken, found[1]);
}

/** `-x` becomes `x`. A negated condition is mutated as a whole. */
function mutatePrefix(node: ts.PrefixUnaryExpression, add: Add): void {
  const isSign = node.operator === ts.SyntaxKind.MinusToken;
  if (isSign && !isTypeOf(node)) add('sign', node, node.operand.getText());
}

const isTypeOf = (node: ts.Node): boolean => ts.isLiteralTypeNode(node.parent);

/** A comparison is mutated by its operator. */
function mutateCondition(node: ts.IfStatement | ts.ConditionalExpression, add: Add): void {
  const condition = ts.isIfStatement(node) ? node.expression : node.condition;
  if (ts.isBinaryExpression(condition)) return;
  const isNegated =
    ts.isPrefixUnaryExpression(condition) && condition.operator === ts.SyntaxKind.ExclamationToken;
  add('branch', condition, isNegated ? condition.operand.getText() : `!(${condition.getText()})`);
}

/** `a.b();` and `await a.b();` do nothing. */
function mutateCall(node: ts.ExpressionStatement, add: Add): void {
  const inner = ts.isVoidExpression(node.expression) ? node.expression.expression : node.expression;
  const call = ts.isAwaitExpression(inner) ? inner.expression : inner;
  if (!ts.isCallExpression(call) || call.expression.kind === ts.SyntaxKind.SuperKeyword) return;
  if (ONLY_TELLS.test(call.expression.getText())) return;
  add('call', node, ';');
}

/** A sum of texts has no sign. */
function isTextual(node: ts.Expression): boolean {
  if (ts.isBinaryExpression(node)) return isTextual(node.left) || isTextual(node.right);
  if (ts.isParenthesizedExpression(node)) return isTextual(node.expression);
  const isLiteral = ts.isTemplateExpression(node) || ts.isNoSubstitutionTemplateLiteral(node);
  const isSum =
    ts.isBinaryExpression(node.parent) && node.parent.operatorToken.kind === ts.SyntaxKind.PlusToken;
  return isLiteral || (isSum && ts.isStringLiteral(node));
}

function isForPeople(node: ts.Node): boolean {
  if (ts.isThrowStatement(node) || ts.isTemplateExpression(node)) return true;
  if (ts.isNewExpression(node)) return /Error$/.test(node.expression.getText());
  if (ts.isCallExpression(node)) return ONLY_TELLS.test(node.expression.getText());
  const isFunction =
    ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isVariableDeclaration(node);
  return isFunction && node.name !== undefined && MAKES_TEXT.test(node.name.getText());
}

const isErased = (node: ts.Node): boolean =>
  (ts.isTypeNode(node) && !ts.isExpressionWithTypeArguments(node)) ||
  ts.isInterfaceDeclaration(node) ||
  ts.isTypeAliasDeclaration(node) ||
  ts.isImportDeclaration(node);
