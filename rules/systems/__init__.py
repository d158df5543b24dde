"""What several families know: charts, pods, ages, advice."""
