import { expect, it } from 'vitest';
import { factsOfOperator } from './call-facts.js';

it.each([
  ['aten::mm', 'product'],
  ['aten::addmm', 'product'],
  ['aten::convolution_backward', 'product'],
  ['mkldnn::_linear_pointwise', 'product'],
  ['acc::convolution_weight_gradient', 'product'],
  ['acc::lstm', 'recurrent'],
  ['acc::lstm_backward', 'recurrent'],
  ['acc::gru_backward', 'recurrent'],
  ['aten::_scaled_dot_product_flash_attention_for_cpu', 'attention'],
  ['aten::sum.dim_IntList', 'other'],
  ['acc::max_pool_backward', 'other'],
])('%s is of the kind %s', (op, kind) => {
  expect(factsOfOperator(op, undefined, []).kind).toBe(kind);
});
