/** The page that exchanges a token for a session, and says what a token is. */

import { useState } from 'preact/hooks';
import { ApiError, messageOf } from '../api/problem';
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
    setProblem(undefined);
    try {
      await signIn(token.trim());
    } catch (error) {
      setProblem(problemText(error));
      setIsBusy(false);
    }
  };
  return (
    <main class="alone">
      <h1>Weir</h1>
      <p class="lead">Who is limited, by which limit, why, and what to do about it. Sign in with your token of the admin API.</p>
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
          hint="The browser keeps a cookie instead of it."
          control={(ids) => (
            <input
              {...ids}
              type="password"
              autocomplete="current-password"
              required
              autofocus
              aria-invalid={problem !== undefined}
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
      <Help />
    </main>
  );
}

function problemText(error: unknown): string {
  if (error instanceof ApiError && error.failure === 'signed-out') {
    return 'This token is wrong, or has expired. Check that you copied all of it; the hash in the tokens file is not the token.';
  }
  return messageOf(error);
}

function Help() {
  return (
    <section class="help" aria-labelledby="help">
      <h2 id="help">How to get one</h2>
      <p>
        The operators of this Weir gave it to you, or your company issues it as a JWT. Its role says what you may do here: <b>viewer</b>{' '}
        reads, <b>support</b> also makes exceptions and reads the audit log, <b>admin</b> does everything.
      </p>
      <details>
        <summary>You run this Weir?</summary>
        <p>
          Make a token, and add its line to the file of <code>ADMIN_TOKENS_FILE</code> (with the Helm chart: the Secret of{' '}
          <code>admin.tokens.existingSecret</code>). Weir reads the file again within a second. It has only hashes, so replace a lost token.
        </p>
        <pre>{`TOKEN=$(openssl rand -hex 32)
printf 'ann support %s\\n' \\
  "$(printf %s "$TOKEN" | sha256sum | cut -d' ' -f1)" \\
  >> /etc/weir/tokens
echo "$TOKEN"`}</pre>
        <p>
          The pages <code>docs/console.md</code> and <code>docs/admin-api.md</code> of Weir say more, among it how to sign in by single
          sign-on.
        </p>
      </details>
    </section>
  );
}
