import { AccError } from '@acc/contract';

/** The error for a variable with packed values that would get others. */
export function frozenPacked({ name }: { readonly name: string }): AccError {
  return new AccError('ACC_QUANTIZED_FROZEN', `'${name}' is quantized, so it gets no other values.`, {
    help: 'Train other variables: leave this one out of varList, or give the model adapters with lora after it is quantized. To load other weights, load them before quantize. On several ranks, give all of them the same weights before quantize.',
    details: { name },
  });
}
