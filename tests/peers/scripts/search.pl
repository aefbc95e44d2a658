#!/usr/bin/perl
# A search of a function of one's own, by the daemon's socket.
use strict;
use warnings;
use IO::Socket::UNIX;
use JSON::PP;

my $daemon = IO::Socket::UNIX->new($ENV{SWEEPD_SOCKET}) or die "no daemon: $!";

sub call {
    my ($method, $params) = @_;
    print $daemon encode_json({jsonrpc => "2.0", id => 1, method => $method, params => $params}), "\n";
    my $answer = decode_json(scalar <$daemon>);
    die $answer->{error}{message} if $answer->{error};
    return $answer->{result};
}

my $sweep = call("sweep.submit", {spec => {
    method => "bayes", run_cap => 15, metric => {name => "loss"},
    parameters => {x => {distribution => "uniform", min => -5, max => 5}}}})->{sweep};
while (1) {
    my $asked = call("trial.ask", {sweep => $sweep});
    last unless @{$asked->{trials}};
    for my $trial (@{$asked->{trials}}) {
        my $x = $trial->{params}{x};
        call("trial.tell", {sweep => $sweep, trial => $trial->{trial}, attempt => $trial->{attempt},
                            state => "COMPLETED", metrics => {loss => ($x - 1) ** 2}});
    }
}
print encode_json(call("sweep.best", {sweep => $sweep})->{trials}[0]{params}), "\n";
