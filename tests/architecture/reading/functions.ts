import ts from 'typescript';

/** The name of a function: its own name, or the name that it is assigned to. */
export function functionName(node: ts.FunctionLikeDeclaration): string {
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  if (node.name) return node.name.getText();
  const { parent } = node;
  if (
    ts.isVariableDeclaration(parent) ||
    ts.isPropertyAssignment(parent) ||
    ts.isPropertyDeclaration(parent)
  ) {
    return parent.name.getText();
  }
  if (ts.isBinaryExpression(parent)) return parent.left.getText();
  if (ts.isCallExpression(parent)) return `(given to ${parent.expression.getText()})`;
  return '(anonymous)';
}
