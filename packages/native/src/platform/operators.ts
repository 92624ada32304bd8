export { operator, operatorInPlace, operatorWithResults } from '../operator.js';
export { tensorFrom, tensorOnHost } from '../tensor.js';
