// Asks for the token, and keeps it in memory only: not in storage, a cookie or the address.

import {useState} from 'preact/hooks';
import {beginSession, isOpen, signIn} from './api/clients';
import {useAction, useLoad} from './api/load';
import {session} from './api/session';
import {useStore} from './api/store';
import {Form, TextField} from './parts/field';
import {Command, Page} from './parts/layout';
import {Failure, Notice} from './parts/notice';

export function SignIn() {
  const {reason} = useStore(session);
  const [token, setToken] = useState('');
  const enter = useAction(async () => signIn(token.trim()));
  // True without a policy, or if it lets anonymous callers see something.
  const open = useLoad(isOpen, []);
  const canGoOn = open.data === true;
  const looksWrong = token.trim() !== '' && !/^[\x21-\x7e]+$/.test(token.trim());
  return <div class="sign-in"><Page title="Sign in" lead={canGoOn ? 'A token may allow you more than you may do without one.' : 'This daemon has a policy that says who may do what.'}>
    {reason !== '' && enter.error === null && <Notice kind="warning" title="You were signed out"><p>{reason}</p></Notice>}
    <Form action="Sign in" extra={canGoOn && <button type="button" onClick={() => void beginSession()}>Go on without a token</button>} running={enter.running} problem={token.trim() === '' ? 'Paste your token first.' : null} onSubmit={() => void enter.run()}>
      <TextField label="Token" type="password" name="token" autocomplete="off" placeholder="coppice_…" value={token} onValue={setToken}
        hint="The console keeps it in this tab's memory and forgets it when you sign out, reload or close the tab."
        error={looksWrong ? 'A token has no blanks or other characters than letters, digits, - and _.' : null}/>
    </Form>
    <Failure error={enter.error}/>
    <h2>No token?</h2>
    <p>The operator makes one with its roles, and adds the line that it prints to the policy:</p>
    <Command text="coppiced token --name you --role analyst"/>
  </Page></div>;
}
