/** Why something could not be read or written. */

import { ApiError } from '../api/problem';
import { State } from './state';

export function FailureNote({ error }: { readonly error: Error | undefined }) {
  if (error === undefined) return null;
  // The banner of the page says that the API is away.
  if (error instanceof ApiError && error.failure === 'away') return null;
  const errors = error instanceof ApiError ? (error.details.errors ?? []) : [];
  return (
    <div class="failure" role="alert">
      <State kind="bad">{error.message}</State>
      {errors.length > 0 && (
        <ul>
          {errors.map(({ field, problem }) => (
            <li key={field}>
              <code>{field}</code>: {problem}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
