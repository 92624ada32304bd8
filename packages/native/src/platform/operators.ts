export { operator, operatorInPlace, operatorWithResults } from '../operator.js';
export { tensorFrom } from '../tensor.js';
