import type { Tensor } from '@acc/native';

/** A read or write on its way. */
export interface Transfer {
  /** Waits until the values can be used, and the sources can change. May be called again. */
  wait(): void;
}

/** Where values lie between their uses: a `TensorFile` of @acc/native, or memory of the host. */
export interface ValuePlaces {
  readonly isDisposed: boolean;
  /** Reserves a place for `bytes` bytes. Returns its number. */
  reserve(bytes: number): number;
  /** Gives back a place of {@link reserve}, with the same number of bytes. */
  free(place: number, bytes: number): void;
  /** Starts to fill tensors from their places. They must not be used before the end. */
  read(tensors: readonly Tensor[], places: readonly number[]): Transfer;
  /** Starts to write tensors to their places. They must not change before the end. */
  write(tensors: readonly Tensor[], places: readonly number[]): Transfer;
  /** Values in it are gone. */
  dispose(): void;
}
