/** The failures of calls of the admin API, as the pages show them. */

export type Failure =
  /** No answer at all, or one that is not the admin API's. */
  | 'away'
  /** A part of Weir is unavailable. */
  | 'unavailable'
  | 'signed-out'
  | 'forbidden'
  | 'refused';

export interface FieldError {
  readonly field: string;
  readonly problem: string;
}

export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    readonly failure: Failure,
    message: string,
    readonly details: { readonly status?: number; readonly errors?: readonly FieldError[]; readonly retryAfterS?: number } = {},
  ) {
    super(message);
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
