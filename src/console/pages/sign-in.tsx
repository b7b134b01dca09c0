/** The page that exchanges a token for a session. */

import { useState } from 'preact/hooks';
import { messageOf } from '../api/problem';
import { session, signIn } from '../api/session';
import { Field } from '../parts/field';
import { State } from '../parts/state';

export function SignInPage() {
  const state = session.value;
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState<string | undefined>(state.kind === 'signed-out' ? state.note : undefined);
  const [isBusy, setIsBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setIsBusy(true);
    try {
      await signIn(token.trim());
    } catch (error) {
      setProblem(messageOf(error));
      setIsBusy(false);
    }
  };
  return (
    <main class="alone">
      <h1>Weir</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        {/* A password manager keeps tokens by name. */}
        <input type="text" name="username" autocomplete="username" value="weir" readOnly hidden />
        <Field
          label="Token"
          hint="A token of ADMIN_TOKENS_FILE, or a JWT. The browser keeps a cookie instead of it."
          control={(ids) => (
            <input
              {...ids}
              type="password"
              autocomplete="current-password"
              required
              autofocus
              value={token}
              onInput={({ currentTarget: { value } }) => {
                setToken(value);
              }}
            />
          )}
        />
        <p role="alert" class="answer">
          {problem !== undefined && <State kind="bad">{problem}</State>}
        </p>
        <button type="submit" class="main" disabled={isBusy}>
          Sign in
        </button>
      </form>
    </main>
  );
}
